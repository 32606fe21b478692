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

// Attention of the last n positions of a sequence only, whose keys and values are in a cache: q [batch, n, heads *
// depth] are the queries at `position` (an i32 or i64 scalar) to position + n - 1; k and v [batch, capacity, heads *
// depth] hold the keys and values of the sequence, including those positions. Each query attends to the keys up to its
// own position; later ones are not read. Equals, up to rounding, the last n rows of attention(.causal = true) over the
// sequence. A position beyond the capacity ends the run with a NumericError. The mask broadcasts to [batch, heads, n,
// capacity]; .causal is ignored.
Tensor cached_attention(const Operand& q, const Operand& k, const Operand& v, const Operand& position,
                        const AttentionOptions& options = {}, std::string_view name = "");

// attention() by matrix products and a softmax over scores in memory; `on_probabilities` may change what the softmax
// gives (dropout).
Tensor attention_by_parts(const Operand& q, const Operand& k, const Operand& v, const AttentionOptions& options = {},
                          const std::function<Tensor(const Tensor&)>& on_probabilities = {},
                          std::string_view name = "");

}  // namespace belfry
#pragma GCC visibility pop
