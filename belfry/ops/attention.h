// Scaled dot-product attention, in one op that never writes the scores of all queries and keys to memory.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "belfry/graph/tensor.h"

#pragma GCC visibility push(default)
namespace belfry {

struct AttentionOptions {
  bool causal = false;  // query i attends to the keys 0 .. i only
  // Broadcasts to [batch, heads, queries, keys]. Of type bool: whether a query may attend to a key. Of q's type: added
  // to the scores.
  Tensor mask{};
  double scale = 0;        // of the scores; 0: 1 / sqrt(depth)
  std::int64_t heads = 1;  // of inputs of rank 3
};

// softmax(scale * q k' + mask) v, for q [batch, heads, queries, depth], k [batch, heads, keys, depth] and
// v [batch, heads, keys, value depth]; or with the heads side by side in the last axis, as projections make them:
// q [batch, queries, heads * depth] and so on. The result has q's form. A query that may attend to nothing gets 0.
Tensor attention(const Operand& q, const Operand& k, const Operand& v, const AttentionOptions& options = {},
                 std::string_view name = "");

// The last positions of a sequence alone, whose keys and values lie in a cache: q [batch, n, heads * depth] are those
// at `position` (an i32 or i64 scalar) to position + n - 1, k and v [batch, capacity, heads * depth] hold the
// sequence's, theirs too. Each query attends to the keys up to its own; what lies behind is not looked at. The same
// numbers, to rounding, as the last n rows of attention(.causal = true) over the sequence. A position that leaves the
// capacity ends the run with a NumericError. The mask broadcasts to [batch, heads, n, capacity]; .causal is ignored.
Tensor cached_attention(const Operand& q, const Operand& k, const Operand& v, const Operand& position,
                        const AttentionOptions& options = {}, std::string_view name = "");

// attention() by matrix products and a softmax over scores in memory; `on_probabilities` may change what it gives
// (dropout).
Tensor attention_by_parts(const Operand& q, const Operand& k, const Operand& v, const AttentionOptions& options = {},
                          const std::function<Tensor(const Tensor&)>& on_probabilities = {},
                          std::string_view name = "");

}  // namespace belfry
#pragma GCC visibility pop
