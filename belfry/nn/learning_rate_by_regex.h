// A different learning rate for some variables.
#pragma once

#include <memory>
#include <vector>

#include "belfry/nn/name_pattern.h"
#include "belfry/nn/optimizer.h"

#pragma GCC visibility push(default)
namespace belfry {

// The wrapped optimizer's rate times the factor of the first expression that matches a variable's whole name (without
// the tower's prefix); 1 for the others:
//
//   learning_rate_by_regex(adam(), {{"backbone/.*", 0.1}, {".*/b", 2}})
//
// The rate is multiplied, not the gradient: right for Adam and similar optimizers, whose steps do not grow with the
// gradient. A factor of 0 keeps the variable unchanged, although its slots change. Factors of nested ones multiply. An
// expression that matches no variable is an error that names the variables.
std::unique_ptr<Optimizer> learning_rate_by_regex(std::unique_ptr<Optimizer> optimizer,
                                                  const std::vector<ScaleByRegex>& scales,
                                                  const Location& where = Location::current());

}  // namespace belfry
#pragma GCC visibility pop
