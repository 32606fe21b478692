// Costs for the size of variables.
#pragma once

#include <string_view>

#include "belfry/graph/variable.h"

#pragma GCC visibility push(default)
namespace belfry {

Regularizer l1(double scale);  // scale * sum |w|
Regularizer l2(double scale);  // scale * sum w^2 / 2

// The sum of the regulariser over the current tower's trainables (outside of a tower: all) whose whole name, without
// the tower's prefix, matches the ECMAScript expression; logs which these are. 0 in inference, and if nothing matches
// (with a warning). The scalar is named `name`, by default "regularize_cost", made unique.
Tensor regularize_cost(std::string_view regex, const Regularizer& regularizer, std::string_view name = "",
                       const Location& where = Location::current());
// The sum of what variables' own regularisers put into REGULARIZATION_LOSSES in this tower, or for the variables that
// it shares; 0 in inference.
Tensor regularize_cost_from_collection(std::string_view name = "", const Location& where = Location::current());

}  // namespace belfry
#pragma GCC visibility pop
