// Keeps what attention has computed for a sequence so far, so that a further position costs only one step, not the
// whole window again:
//
//   std::vector<KeyValueCache> caches = ...;                       // one per block
//   x | transformer_block("block0", {.heads = 4, .causal = true, .cache = &caches[0], .position = at})
//
// x [batch, n, features] then holds the positions from `at` on (usually one; many for a prompt), the result is for
// these, and caches[0] becomes the cache that includes their keys and values. The variables, and the numbers up to
// rounding, are those of the whole window. The layer changes the cache when it is called with x: the cache must live
// until then.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "belfry/graph/variable.h"
#include "belfry/ops/sizes.h"

#pragma GCC visibility push(default)
namespace belfry {

// Keys and values [batch, capacity, units]. There are two kinds: tensors, which each step makes again (for a loop
// inside a run), and variables, which the session keeps from run to run. A run that fetches the result of a step writes
// them.
struct KeyValueCache {
  Tensor keys{}, values{};
  Variable kept_keys{}, kept_values{};  // where they are kept; empty: nowhere
};

struct KeyValueCacheOptions {
  std::int64_t capacity = 0;  // positions; has no default
  std::int64_t units = 0;     // of the attention layer: its .units, or otherwise the features; has no default
  DType dtype = DType::f32;
};

// Tensors of zeros. The batch may be unknown until a run.
KeyValueCache key_value_cache(const Size& batch, const KeyValueCacheOptions& options,
                              const Location& where = Location::current());
// Local variables <name>/keys and <name>/values, which no checkpoint has, zero at first. A new sequence begins at
// position 0: what is after a position is not read, so nothing needs to be cleared.
KeyValueCache key_value_variables(std::string_view name, std::int64_t batch, const KeyValueCacheOptions& options,
                                  const Location& where = Location::current());

// As the state of a while_loop: keys and values in turn, and back.
Tensors tensors_of(const std::vector<KeyValueCache>& caches);
std::vector<KeyValueCache> caches_of(const Tensors& tensors);

}  // namespace belfry
#pragma GCC visibility pop
