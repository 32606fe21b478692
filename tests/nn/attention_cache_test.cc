#include "belfry/nn/attention_cache.h"

#include "belfry/nn/generate_tokens.h"
#include "tests/nn/nn_test_support.h"

namespace belfry {
namespace {

constexpr std::int64_t kCapacity = 12, kFeatures = 8, kClasses = 7;
constexpr KeyValueCacheOptions kRoom{.capacity = kCapacity, .units = kFeatures};

// Two blocks with a head, for a whole window or with caches.
Tensor logits_of(const Tensor& tokens, const Tensor& position, std::vector<KeyValueCache>* caches) {
  const auto root = VariableScope::reopen({.reuse = Reuse::automatic});
  const Variable places =
      get_variable("places", {.shape = {kCapacity, kFeatures}, .initializer = init::normal({.stddev = 1})});
  const Tensor time = size_of(tokens, 1);
  Tensor x = embedding_lookup(
                 get_variable("tokens", {.shape = {kClasses, kFeatures}, .initializer = init::normal({.stddev = 1})}),
                 tokens) +
             slice(places, {position ? position : constant(0), 0}, {time, kFeatures});
  for (std::size_t i = 0; i < 2; ++i)
    x = x |
        transformer_block(
            "block" + std::to_string(i),
            {.heads = 2, .causal = true, .cache = caches == nullptr ? nullptr : &(*caches)[i], .position = position});
  return x | dense("head", {.units = kClasses});
}

Array tokens_of(std::int64_t batch, std::int64_t time) {
  Array out(i64, {batch, time});
  for (std::int64_t i = 0; i < out.elements(); ++i) out.set_item(i, static_cast<double>((i * 5 + i / time) % kClasses));
  return out;
}

Array columns(const Array& x, std::int64_t first, std::int64_t count) {
  const std::int64_t batch = x.shape()[0], time = x.shape()[1];
  Array out(x.dtype(), {batch, count});
  for (std::int64_t b = 0; b < batch; ++b)
    for (std::int64_t t = 0; t < count; ++t) out.set_item(b * count + t, x.item(b * time + first + t));
  return out;
}

void expect_rows(const Array& part, const Array& whole, std::int64_t first) {
  const std::int64_t batch = part.shape()[0], n = part.shape()[1], time = whole.shape()[1];
  for (std::int64_t b = 0; b < batch; ++b)
    for (std::int64_t i = 0; i < n * kClasses; ++i)
      ASSERT_NEAR(part.item(b * n * kClasses + i), whole.item((b * time + first) * kClasses + i), 1e-5)
          << "batch " << b << ", from " << first << ", element " << i;
}

class AttentionCacheTest : public NnTest {
 protected:
  std::vector<KeyValueCache> tensors(const Size& batch) {
    return {key_value_cache(batch, kRoom), key_value_cache(batch, kRoom)};
  }
  Tensor window = placeholder(i64, {kAny, kAny}, "window");
};

// A prompt of 5, then single positions: caches in variables.
TEST_F(AttentionCacheTest, StepsWithVariablesGiveTheWindowsLogits) {
  const PredictTowerContext tower("");
  const Tensor prompt = placeholder(i64, {2, 5}), next = placeholder(i64, {2, 1}), at = placeholder(i32, {});
  std::vector<KeyValueCache> kept{key_value_variables("cache0", 2, kRoom), key_value_variables("cache1", 2, kRoom)};
  std::vector<KeyValueCache> for_prompt = kept, for_step = kept;
  const Tensor whole = logits_of(window, {}, nullptr), begin = logits_of(prompt, constant(0), &for_prompt),
               step = logits_of(next, at, &for_step);
  EXPECT_EQ(in(collection::kLocalVariables), (Names{"cache0/keys", "cache0/values", "cache1/keys", "cache1/values"}));
  Session session(graph);
  session.initialize();
  const Array all = tokens_of(2, kCapacity), wanted = session.run(whole, {{window, all}});
  for (int round = 0; round < 2; ++round) {  // a second sequence needs no clearing
    expect_rows(session.run(begin, {{prompt, columns(all, 0, 5)}}), wanted, 0);
    for (std::int32_t t = 5; t < kCapacity; ++t)
      expect_rows(session.run(step, {{next, columns(all, t, 1)}, {at, Array(t)}}), wanted, t);
  }
  EXPECT_NE(error_of([&] {
              session.run(step, {{next, columns(all, 0, 1)}, {at, Array(std::int32_t{kCapacity})}});
            }).find("got size 1 from 12 on"),
            std::string::npos);
}

// The same with tensors that are given back, for several batches in one session.
TEST_F(AttentionCacheTest, StepsWithTensorsGiveTheWindowsLogits) {
  const PredictTowerContext tower("");
  const Tensor next = placeholder(i64, {kAny, kAny}), at = placeholder(i64, {});
  std::vector<KeyValueCache> caches;
  for (int i = 0; i < 2; ++i)
    caches.push_back({.keys = placeholder(f32, {kAny, kCapacity, kFeatures}),
                      .values = placeholder(f32, {kAny, kCapacity, kFeatures})});
  const Tensors before = tensors_of(caches);
  const Tensor whole = logits_of(window, {}, nullptr), step = logits_of(next, at, &caches);
  const Tensors after = tensors_of(caches);
  Session session(graph);
  session.initialize();
  for (const std::int64_t batch : {3, 1, 0, 2}) {
    const Array all = tokens_of(batch, kCapacity), wanted = session.run(whole, {{window, all}});
    std::vector<Array> state(4, Array::zeros(f32, {batch, kCapacity, kFeatures}));
    for (std::int64_t t = 0; t < kCapacity; t += 3) {
      Feeds feeds{{next, columns(all, t, 3)}, {at, Array(t)}};
      for (std::size_t i = 0; i < 4; ++i) feeds.emplace_back(before[i], state[i]);
      std::vector<Fetch> fetches{step};
      fetches.insert(fetches.end(), after.begin(), after.end());
      const std::vector<Array> got = session.run(fetches, feeds);
      expect_rows(got[0], wanted, t);
      for (std::size_t i = 0; i < 4; ++i) state[i] = got[i + 1].clone();
    }
  }
}

TEST_F(AttentionCacheTest, GradientsFlowThroughCachedSteps) {
  const TrainTowerContext tower("");
  std::vector<KeyValueCache> caches = tensors(2);
  const Tensor ids = constant(tokens_of(2, 4));
  const auto columns_from = [&](std::int64_t first, std::int64_t count) { return slice(ids, {0, first}, {2, count}); };
  const Tensor a = logits_of(columns_from(0, 3), constant(0), &caches),
               b = logits_of(columns_from(3, 1), constant(3), &caches), whole = logits_of(ids, {}, nullptr);
  const std::vector<Variable> variables = graph.collections().variables(collection::kTrainableVariables);
  const auto gradient = [&](const Tensor& y) {
    Tensors out;
    for (const Tensor& t : gradients(Tensors{reduce_sum(square(y))}, Tensors(variables.begin(), variables.end())))
      out.push_back(t);
    return out;
  };
  const Tensors stepped = gradient(concat({a, b}, 1)), at_once = gradient(whole);
  Session session(graph);
  session.initialize();
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const Array x = session.run(stepped[i]), y = session.run(at_once[i]);
    for (std::int64_t k = 0; k < x.elements(); ++k)
      ASSERT_NEAR(x.item(k), y.item(k), 1e-4 * std::max(1.0, std::abs(y.item(k)))) << variables[i].name();
  }
}

TEST_F(AttentionCacheTest, MistakesAreErrorsThatNameTheLayer) {
  const TrainTowerContext tower("");
  const Tensor x = placeholder(f32, {2, 1, kFeatures});
  std::vector<KeyValueCache> caches = tensors(2);
  const auto error = [&](MultiHeadAttentionOptions options) {
    options.heads = 2;
    return error_of([&] { x | multi_head_attention("att", options); });
  };
  const Tensor at = constant(0);
  EXPECT_TRUE(error({.causal = true, .cache = &caches[0]})
                  .starts_with("[multi_head_attention 'att'] expected .cache and .position together, got only .cache"));
  EXPECT_TRUE(
      error({.causal = true, .position = at})
          .starts_with("[multi_head_attention 'att'] expected .cache and .position together, got only .position"));
  EXPECT_TRUE(error({.cache = &caches[0], .position = at})
                  .starts_with("[multi_head_attention 'att'] expected .causal and no .context with a .cache, got "
                               "attention to all positions"));
  EXPECT_TRUE(
      error({.units = 4, .causal = true, .cache = &caches[0], .position = at})
          .starts_with("[multi_head_attention 'att'] expected a cache of keys and values [batch, capacity, 4], got"));
  EXPECT_TRUE(
      error({.causal = true, .attention_dropout = 0.5, .cache = &caches[0], .position = at})
          .starts_with("[multi_head_attention 'att'] expected no .attention_dropout with a .cache in training"));
  EXPECT_TRUE(error_of([] {
                key_value_cache(2, {.units = 8});
              }).starts_with("[key_value_cache] expected .capacity and .units above 0, got 0 and 8 (at "));
}

TEST_F(AttentionCacheTest, AFullCacheSaysWhatToDo) {
  const PredictTowerContext tower("");
  const Tensor x = placeholder(f32, {2, 1, kFeatures}), at = placeholder(i64, {});
  std::vector<KeyValueCache> caches{key_value_cache(2, kRoom), key_value_variables("kept", 2, kRoom)};
  Tensors steps;
  for (std::size_t i = 0; i < 2; ++i)
    steps.push_back(
        x | multi_head_attention("att" + std::to_string(i), {.causal = true, .cache = &caches[i], .position = at}));
  Session session(graph);
  session.initialize();
  for (const Tensor& step : steps) {
    const std::string text =
        error_of([&] { session.run(step, {{x, Array::zeros(f32, {2, 1, kFeatures})}, {at, Array(kCapacity)}}); });
    EXPECT_NE(text.find("got size 1 from 12 on along axis 1. The cache has no room for the position: give it a larger "
                        ".capacity, or start again at position 0 (made at "),
              std::string::npos)
        << text;
  }
}

class GenerateTest : public AttentionCacheTest {
 protected:
  static Tensor model(const Tensor& tokens, const Tensor& position, std::vector<KeyValueCache>& caches) {
    return logits_of(tokens, position, &caches);
  }
  // The largest logit at each place, over whole windows.
  Array naive(Session& session, const Tensor& whole, const Array& prompt, std::int64_t tokens) {
    Array text = prompt;
    for (std::int64_t k = 0; k < tokens; ++k) {
      const Array logits = session.run(whole, {{window, text}});
      const std::int64_t batch = text.shape()[0], time = text.shape()[1];
      Array longer(i64, {batch, time + 1});
      for (std::int64_t b = 0; b < batch; ++b) {
        for (std::int64_t t = 0; t < time; ++t) longer.set_item(b * (time + 1) + t, text.item(b * time + t));
        const auto row =
            logits.values<float>().subspan(static_cast<std::size_t>((b * time + time - 1) * kClasses), kClasses);
        longer.set_item(b * (time + 1) + time, static_cast<double>(std::ranges::max_element(row) - row.begin()));
      }
      text = longer;
    }
    return text;
  }
};

TEST_F(GenerateTest, TheLargestLogitsAreThoseOfWholeWindows) {
  const PredictTowerContext tower("");
  const Tensor prompt = placeholder(i64, {kAny, kAny}, "prompt");
  const Tensor text = generate_tokens(
      prompt, model, {.tokens = 6, .caches = tensors(size_of(prompt, 0)), .sample = {.temperature = 0}});
  const Tensor whole = logits_of(window, {}, nullptr);
  EXPECT_EQ(text.name(), "generate/tokens");
  Session session(graph);
  session.initialize();
  for (const std::int64_t batch : {2, 1, 3})
    for (const std::int64_t time : {1, 4}) {
      const Array begin = tokens_of(batch, time);
      EXPECT_TRUE(equal(session.run(text, {{prompt, begin}}), naive(session, whole, begin, 6)))
          << batch << ", " << time;
    }
  EXPECT_EQ(session.run(text, {{prompt, tokens_of(0, 4)}}).shape(), Shape({0, 10}));
}

TEST_F(GenerateTest, DrawsAreAFunctionOfTheSeedAndTheStep) {
  const PredictTowerContext tower("");
  const Tensor prompt = constant(tokens_of(2, 2));
  const Tensor text =
      generate_tokens(prompt, model, {.tokens = 8, .caches = tensors(2), .sample = {.temperature = 2.f, .top_k = 5}});
  const auto two_runs = [&](std::uint64_t seed) {
    graph.set_seed(seed);
    Session session(graph);
    session.initialize();
    std::vector<Array> out{session.run(text), session.run(text)};
    return out;
  };
  const std::vector<Array> once = two_runs(3), again = two_runs(3);
  EXPECT_TRUE(equal(once[0], again[0]) && equal(once[1], again[1]));
  EXPECT_FALSE(equal(once[0], once[1]));
}

TEST_F(GenerateTest, ARowThatHasStoppedStaysStopped) {
  const PredictTowerContext tower("");
  const Tensor prompt = placeholder(i64, {kAny, kAny}, "prompt");
  const GenerateOptions greedy{.tokens = 6, .caches = tensors(size_of(prompt, 0)), .sample = {.temperature = 0}};
  const Tensor free = generate_tokens(prompt, model, greedy);
  Session first(graph);
  first.initialize();
  const Array begin = tokens_of(3, 2), unstopped = first.run(free, {{prompt, begin}});
  const auto stop = static_cast<std::int64_t>(unstopped.item(3));  // what the first row draws second
  GenerateOptions stopping = greedy;
  stopping.stop = stop;
  const Tensor text = generate_tokens(prompt, model, stopping);
  Session session(graph);
  session.initialize();
  Array wanted = first.run(free, {{prompt, begin}}).clone();
  for (std::int64_t b = 0; b < 3; ++b) {
    bool stopped = false;
    for (std::int64_t t = 2; t < 8; ++t) {
      if (stopped) wanted.set_item(b * 8 + t, static_cast<double>(stop));
      stopped = stopped || wanted.item(b * 8 + t) == static_cast<double>(stop);
    }
  }
  EXPECT_TRUE(equal(session.run(text, {{prompt, begin}}), wanted));
  EXPECT_TRUE(equal(session.run(text, {{prompt, columns(begin, 0, 2)}}), wanted));
}

TEST_F(GenerateTest, MistakesAreErrors) {
  const PredictTowerContext tower("");
  const Tensor prompt = constant(tokens_of(2, 2));
  EXPECT_TRUE(error_of([&] {
                generate_tokens(prompt, model, {});
              }).starts_with("[generate_tokens] expected .tokens above 0, got 0 (at attention_cache_test.cc:"));
  EXPECT_TRUE(
      error_of([&] { generate_tokens(prompt, model, {.tokens = 12, .caches = tensors(2)}); })
          .starts_with("[generate_tokens] expected caches with room for the prompt and all .tokens but the last, got 2 "
                       "and 12 for a capacity of 12 (at "));
  EXPECT_TRUE(error_of([&] {
                generate_tokens(prompt, model, {.tokens = 3, .caches = {key_value_variables("kept", 2, kRoom)}});
              }).starts_with("[generate_tokens] expected caches of tensors, got variables (at "));
  EXPECT_TRUE(
      error_of([&] {
        generate_tokens(cast(prompt, f32), model, {.tokens = 3});
      }).starts_with("[generate_tokens] expected a prompt [batch, time] of i32 or i64 with at least one token, got "));
}

}  // namespace
}  // namespace belfry
