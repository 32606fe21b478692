// Cross-entropy of independent yes-or-no questions, from logits.
#pragma once

#include <string_view>

#include "belfry/graph/tensor.h"

#pragma GCC visibility push(default)
namespace belfry {

// -labels * log(sigmoid(logits)) - (1 - labels) * log(1 - sigmoid(logits)) of each element, exact for logits of any
// size. Labels have the logits' shape, or are one number; they are probabilities, usually 0 and 1.
Tensor sigmoid_cross_entropy(const Operand& logits, const Operand& labels, std::string_view name = "");

}  // namespace belfry
#pragma GCC visibility pop
