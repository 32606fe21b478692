// Tokens drawn one after the other from a model with caches, all in one run:
//
//   const auto model = [](const Tensor& tokens, const Tensor& position, std::vector<KeyValueCache>& caches) {
//     Tensor x = tokens | embedding("tok", ...) ...;
//     return x | transformer_block("block0", {.heads = 4, .causal = true, .cache = &caches[0], .position = position})
//     ...;
//   };
//   Tensor text = generate_tokens(prompt, model, {.tokens = 200, .caches = caches, .sample = {.temperature = 0.8f}});
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "belfry/nn/attention_cache.h"
#include "belfry/ops/sampling.h"

#pragma GCC visibility push(default)
namespace belfry {

// Logits [batch, n, classes] of tokens [batch, n] (i64), the first of which is at `position` (i64 scalar). The caches
// hold the tokens before these, and then also these. The function is called twice, for the prompt and for a single
// token: whether its variables are shared depends on the scopes, so enter VariableScope::reopen({.reuse =
// Reuse::automatic}) first if they do not exist yet.
using DecodeFunction =
    std::function<Tensor(const Tensor& tokens, const Tensor& position, std::vector<KeyValueCache>& caches)>;

struct GenerateOptions {
  std::int64_t tokens = 0;  // how many new ones; has no default
  std::vector<KeyValueCache>
      caches{};            // of tensors: key_value_cache(), with room for the prompt and all tokens but the last
  SampleOptions sample{};  // how one is drawn
  // The token at which a row stops: the rest of the row is filled with it. Once all rows have stopped, the run ends.
  std::optional<std::int64_t> stop{};
};

// The prompt [batch, time] (i32 or i64, at least one token) and what follows it: i64 [batch, time + tokens]. The batch
// and the prompt's length may be unknown until a run.
Tensor generate_tokens(const Tensor& prompt, const DecodeFunction& model, const GenerateOptions& options,
                       std::string_view name = "generate", const Location& where = Location::current());

}  // namespace belfry
#pragma GCC visibility pop
