#include "belfry/nn/generate_tokens.h"

#include <algorithm>

#include "belfry/base/check.h"
#include "belfry/graph/location.h"
#include "belfry/graph/scope.h"
#include "belfry/ops/array_ops.h"
#include "belfry/ops/basic.h"
#include "belfry/ops/control_flow.h"
#include "belfry/ops/generate.h"
#include "belfry/ops/logic.h"
#include "belfry/ops/pointwise.h"
#include "belfry/ops/reduce.h"
#include "belfry/ops/update_slice.h"

namespace belfry {
namespace {

void check_arguments(const Tensor& prompt, const DecodeFunction& model, const GenerateOptions& o,
                     const Location& where) {
  const std::string line = to_string(where);
  BELFRY_CHECK(
      prompt && prompt.rank() == 2 && (prompt.dtype() == i32 || prompt.dtype() == i64) && prompt.shape()[1] != 0,
      "[generate_tokens] expected a prompt [batch, time] of i32 or i64 with at least one token, got {} (at {})",
      prompt ? to_string(prompt) : "an empty handle", line);
  BELFRY_CHECK(static_cast<bool>(model), "[generate_tokens] expected a function, got an empty one (at {})", line);
  BELFRY_CHECK(o.tokens > 0, "[generate_tokens] expected .tokens above 0, got {} (at {})", o.tokens, line);
  for (const KeyValueCache& cache : o.caches) {
    const std::int64_t capacity = cache.keys && cache.keys.rank() == 3 ? cache.keys.shape()[1] : kAny;
    // The last token is drawn and not read again.
    BELFRY_CHECK(capacity == kAny || std::max<std::int64_t>(prompt.shape()[1], 1) + o.tokens - 1 <= capacity,
                 "[generate_tokens] expected caches with room for the prompt and all .tokens but the last, got {} and "
                 "{} for a capacity of {} (at {}). Give key_value_cache() a larger .capacity, or ask for fewer tokens.",
                 prompt.shape()[1] == kAny ? "a prompt" : std::to_string(prompt.shape()[1]), o.tokens, capacity, line);
    BELFRY_CHECK(!cache.kept_keys && !cache.kept_values,
                 "[generate_tokens] expected caches of tensors, got variables (at {}). A loop cannot assign them: use "
                 "key_value_cache().",
                 line);
  }
}

// The next token of each row, [batch, 1], from the logits of its last one.
Tensor draw(const Tensor& logits, const GenerateOptions& o, const Location& where) {
  BELFRY_CHECK(logits && logits.rank() == 3,
               "[generate_tokens] expected logits [batch, n, classes] from the function, got {} (at {})",
               logits ? to_string(logits) : "an empty handle", to_string(where));
  const Tensor last = slice(logits, {0, size_of(logits, 1) - 1, 0}, {kAny, 1, kAny});
  return sample_class(last, o.sample);
}

// Rows that have stopped continue with the stop token.
Tensor kept_stopped(const Tensor& next, const Tensor& before, const GenerateOptions& o) {
  if (!o.stop) return next;
  const Tensor stop = constant(Array(*o.stop));
  return select(equal(before, stop), stop, next);
}

}  // namespace

Tensor generate_tokens(const Tensor& prompt, const DecodeFunction& model, const GenerateOptions& o,
                       std::string_view name, const Location& where) {
  check_arguments(prompt, model, o, where);
  const LocationScope location(where);
  const NameScope scope(name);
  const Tensor tokens = cast(prompt, i64), length = size_of(prompt, 1), end = length + constant(Array(o.tokens));
  std::vector<KeyValueCache> caches = o.caches;
  const Tensor first = draw(model(tokens, constant(Array(std::int64_t{0})), caches), o, where);
  Tensor text = zeros({size_of(prompt, 0), end}, i64);
  text = update_slice(update_slice(text, tokens, {0, 0}), first, {0, length});
  // The loop's tensors: the position of `next`, next, the text so far, the caches.
  Tensors start{length, first, text};
  for (const Tensor& t : tensors_of(caches)) start.push_back(t);
  const auto goes_on = [&](const Tensors& v) {
    const Tensor room = v[0] + 1 < end;
    return o.stop ? logical_and(room, reduce_any(not_equal(v[1], constant(Array(*o.stop))))) : room;
  };
  const auto pass = [&](const Tensors& v) {
    std::vector<KeyValueCache> seen = caches_of(Tensors(v.begin() + 3, v.end()));
    const Tensor next = kept_stopped(draw(model(v[1], v[0], seen), o, where), v[1], o);
    Tensors out{v[0] + 1, next, update_slice(v[2], next, {0, v[0] + 1})};
    for (const Tensor& t : tensors_of(seen)) out.push_back(t);
    return out;
  };
  const Tensors last = while_loop(start, goes_on, pass);
  if (!o.stop) return identity(last[2], "tokens");
  // The places that a loop that ended early has not written.
  const Tensor places = reshape(range(0, end), {1, kAny});
  return select(places <= last[0], last[2], constant(Array(*o.stop)), "tokens");
}

}  // namespace belfry
