// The handbook's code on attention that is stepped: ./dev docs checks that every block there stands here word for word.
#include <belfry/belfry.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace bf = belfry;

namespace {

// Logits [batch, n, 65] of tokens [batch, n] from `position` on; earlier ones are in the caches, one per block.
bf::Tensor decode(const bf::Tensor& tokens, const bf::Tensor& position, std::vector<bf::KeyValueCache>& caches) {
  const bf::Variable places = bf::get_variable("places", {.shape = {128, 32}});
  bf::Tensor x = (tokens | bf::embedding("tokens", {.rows = 65, .width = 32})) +
                 bf::slice(places, {position, 0}, {bf::size_of(tokens, 1), 32});
  for (std::size_t i = 0; i < caches.size(); ++i)
    x = x | bf::transformer_block("block" + std::to_string(i),
                                  {.heads = 2, .causal = true, .cache = &caches[i], .position = position});
  return x | bf::dense("head", {.units = 65});
}

std::vector<double> drawn_by_steps() {
  std::vector<double> text;
  bf::Graph graph;
  const bf::GraphScope scope(graph);
  const bf::PredictTowerContext tower("");
  const bf::Tensor tokens = bf::placeholder(bf::i64, {1, bf::kAny}), position = bf::placeholder(bf::i64, {});
  std::vector<bf::KeyValueCache> caches{bf::key_value_variables("cache0", 1, {.capacity = 128, .units = 32}),
                                        bf::key_value_variables("cache1", 1, {.capacity = 128, .units = 32})};
  const bf::Tensor logits = decode(tokens, position, caches);
  const bf::Tensor last = bf::slice(logits, {0, bf::size_of(tokens, 1) - 1, 0}, {1, 1, 65});
  const bf::Tensor next = bf::sample_class(last, {.temperature = 0.8f, .top_k = 20, .top_p = 0.95f});

  bf::Session session(graph);
  session.initialize();
  const bf::Callable step = session.make_callable({next}, {tokens, position});
  bf::Array fed = bf::Array::of<std::int64_t>({1, 3}, {20, 8, 5});  // the prompt, at once
  for (std::int64_t at = 0, drawn = 0; drawn < 20; ++drawn) {
    const bf::Array token = step(std::vector{fed, bf::Array(at)})[0].clone();  // the callable's own until the next call
    text.push_back(token.item());
    at += fed.shape()[1];
    fed = token;
  }
  return text;
}

}  // namespace

TEST(HandbookAttention, StepsFromCpp) {
  const std::vector<double> text = drawn_by_steps();
  EXPECT_EQ(text.size(), 20);
  EXPECT_GT(std::ranges::max(text), std::ranges::min(text));
  EXPECT_EQ(text, drawn_by_steps());
}

TEST(HandbookAttention, AllInOneRun) {
  bf::Graph graph;
  const bf::GraphScope scope(graph);
  const bf::PredictTowerContext tower("");
  const bf::Tensor prompt = bf::placeholder(bf::i64, {bf::kAny, bf::kAny});
  const auto root = bf::VariableScope::reopen({.reuse = bf::Reuse::automatic});
  const std::vector caches(2, bf::key_value_cache(bf::size_of(prompt, 0), {.capacity = 128, .units = 32}));
  const bf::Tensor text =
      bf::generate_tokens(prompt, decode, {.tokens = 20, .caches = caches, .sample = {.top_k = 20}});
  bf::Session session(graph);
  session.initialize();
  const bf::Array out = session.run(text, {{prompt, bf::Array::of<std::int64_t>({1, 3}, {20, 8, 5})}});
  EXPECT_EQ(out.shape(), bf::Shape({1, 23}));
  EXPECT_EQ(out.item(2), 5);
}

TEST(HandbookAttention, ARingOfValues) {
  bf::Graph graph;
  const bf::GraphScope scope(graph);
  const bf::Tensor value = bf::placeholder(bf::f32, {}), step = bf::placeholder(bf::i32, {});
  const bf::Variable seen = bf::new_variable("seen", {.shape = {8}, .initializer = bf::init::zeros()});
  const bf::Tensor now = bf::assign_slice(seen, bf::reshape(value, {1}), {bf::floormod(step, 8)});
  bf::Session session(graph);
  session.initialize();
  for (int i = 0; i < 10; ++i) session.run(now, {{value, bf::Array(static_cast<float>(i))}, {step, bf::Array(i)}});
  EXPECT_EQ(session.value(seen).item(1), 9);
  EXPECT_EQ(session.value(seen).item(2), 2);
}
