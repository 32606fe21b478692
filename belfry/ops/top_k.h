// Which entries are the largest.
#pragma once

#include <string_view>

#include "belfry/graph/tensor.h"

#pragma GCC visibility push(default)
namespace belfry {

// The index (i64) of the largest element along an axis, which disappears; of several, the first. NaN counts as largest.
Tensor argmax(const Operand& x, int axis = -1, std::string_view name = "");

// For each row of predictions [N, classes]: is the target's entry among the k largest? All that tie with the k-th are.
// A target that is not a class, or whose entry is not finite, is not.
Tensor in_top_k(const Operand& predictions, const Operand& targets, int k, std::string_view name = "");

// An f32 vector: 1 where the label is not among the topk largest logits, else 0. Its mean is the error rate.
Tensor prediction_incorrect(const Operand& logits, const Operand& label, int topk = 1, std::string_view name = "");
Tensor prediction_incorrect(const Operand& logits, const Operand& label, std::string_view name);

}  // namespace belfry
#pragma GCC visibility pop
