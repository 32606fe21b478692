// Softmax over the last axis, and the loss made of it.
#pragma once

#include <string_view>

#include "belfry/graph/tensor.h"

#pragma GCC visibility push(default)
namespace belfry {

Tensor softmax(const Operand& logits, std::string_view name = "");
Tensor log_softmax(const Operand& logits, std::string_view name = "");

// -log softmax(logits)[label] for each row: logits [..., classes], labels [...] of type i32 or i64 in [0, classes).
// A label outside that range ends the run with a NumericError.
Tensor sparse_softmax_cross_entropy(const Operand& logits, const Operand& labels, std::string_view name = "");
// -sum(labels * log softmax(logits)) for each row, labels of logits' shape and type: probabilities, or any weights.
// Gradients flow to both.
Tensor softmax_cross_entropy(const Operand& logits, const Operand& labels, std::string_view name = "");

}  // namespace belfry
#pragma GCC visibility pop
