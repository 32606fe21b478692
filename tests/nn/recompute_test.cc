// Recompute changes memory and time, never a bit of what is computed.
#include "belfry/nn/recompute.h"

#include <fmt/format.h>

#include <cstring>
#include <functional>

#include "belfry/base/log.h"
#include "tests/nn/nn_test_support.h"

namespace belfry {
namespace {

// Applies the blocks of a network, recomputed or not.
struct Block {
  bool again = false;
  template <TensorFunction F>
  Tensor operator()(const Tensor& x, const F& block) const {
    return again ? x | recompute(block) : block(x);
  }
};
constexpr Block kAgain{true}, kKept{false};
using Network = std::function<Tensor(const Tensor& x, const Block& block)>;  // gives the cost

Tensor residual_block(const Tensor& x, const std::string& name) {
  const auto conv = conv2d({.filters = 16, .kernel = 3, .use_bias = false});
  const Tensor y = x | conv(name + ".c1") | batch_norm(name + ".b1") | relu | dropout(name + ".drop", 0.3) |
                   conv(name + ".c2") | batch_norm(name + ".b2");
  return (x + y) | relu;
}

Tensor images_to_cost(const Tensor& x, const Block& block) {
  Tensor y = x | conv2d("stem", {.filters = 16, .kernel = 3});
  for (int k = 0; k < 3; ++k)
    y = block(y, [&](const Tensor& in) { return residual_block(in, "block" + std::to_string(k)); });
  y = block(y, [](const Tensor& in) { return in | max_pool("pool", 2) | leaky_relu; });
  return reduce_mean(square((y | global_avg_pool("mean") | fully_connected("head", {.units = 3})) - 1.f));
}

Tensor sequences_to_cost(const Tensor& x, const Block& block) {
  Tensor y = x;
  for (int k = 0; k < 2; ++k)
    y = block(y, [&](const Tensor& in) {
      return in |
             transformer_block("block" + std::to_string(k), {.heads = 2, .dropout = 0.2, .attention_dropout = 0.1});
    });
  y = block(y, [](const Tensor& in) { return in | lstm("rnn", {.units = 8}); });
  return reduce_mean(square(y));
}

struct Trained {
  std::vector<Array> values{};  // of all variables, after some steps
  std::size_t arena = 0;
  std::string plan{};
};

Trained train(const Network& network, const Shape& shape, const Block& block, int threads, int steps = 10) {
  Graph graph;
  const GraphScope scope(graph);
  graph.set_seed(5);
  const TrainTowerContext tower("");
  const Tensor x = placeholder(f32, shape);
  const Operation update = adam({.learning_rate = 0.01f})->minimize(network(x, block));
  Session session(graph, {.devices = {{threads}}});
  session.initialize();
  Array batch(f32, shape);
  for (std::size_t i = 0; i < batch.values<float>().size(); ++i)
    batch.values<float>()[i] = static_cast<float>((i * 37 + i / 11) % 101) / 50.f - 1.f;
  for (int k = 0; k < steps; ++k) session.run(update, {{x, batch}});
  Trained out{.values = {}, .arena = session.arena_bytes(), .plan = session.explain({update}, {{x, batch}})};
  for (const Variable& v : graph.variables()) out.values.push_back(session.value(v));
  return out;
}

void expect_same_bits(const Trained& a, const Trained& b) {
  ASSERT_EQ(a.values.size(), b.values.size());
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    ASSERT_EQ(a.values[i].bytes(), b.values[i].bytes());
    EXPECT_EQ(std::memcmp(a.values[i].raw(), b.values[i].raw(), a.values[i].bytes()), 0) << "variable " << i;
  }
}

class RecomputeTest : public NnTest {};

TEST_F(RecomputeTest, WeightsAndMovingAveragesKeepTheirBits) {
  for (int threads : {1, 2}) {
    const Trained with = train(images_to_cost, {4, 12, 12, 3}, kAgain, threads),
                  without = train(images_to_cost, {4, 12, 12, 3}, kKept, threads);
    expect_same_bits(with, without);
    EXPECT_LT(with.arena, without.arena);
    EXPECT_TRUE(contains(with.plan, "  recomputed")) << with.plan;
  }
}

TEST_F(RecomputeTest, AttentionDropoutAndRecurrentLayersKeepTheirBits) {
  for (int threads : {1, 2}) {
    const Trained with = train(sequences_to_cost, {3, 8, 8}, kAgain, threads),
                  without = train(sequences_to_cost, {3, 8, 8}, kKept, threads);
    expect_same_bits(with, without);
    EXPECT_TRUE(contains(with.plan, "  recomputed")) << with.plan;
  }
}

// A deep chain whose layers each keep a large value: with a segment for every 8 layers about 8 + 8 of 64 stay.
Tensor deep_chain(const Tensor& x, const Block& block) {
  Tensor y = x;
  for (int k = 0; k < 8; ++k)
    y = block(y, [&](Tensor in) {
      for (int i = 0; i < 8; ++i)
        in = in | fully_connected("fc" + std::to_string(8 * k + i), {.units = 16, .activation = tanh});
      return in;
    });
  return reduce_mean(square(y));
}

TEST_F(RecomputeTest, ADeepChainNeedsAFractionOfTheMemory) {
  const Trained with = train(deep_chain, {2048, 16}, kAgain, 1, 2),
                without = train(deep_chain, {2048, 16}, kKept, 1, 2);
  expect_same_bits(with, without);
  EXPECT_LT(static_cast<double>(with.arena), 0.35 * static_cast<double>(without.arena));
}

// Nothing but the gradients needs the last segment here, as the cost is not fetched: it runs once.
TEST_F(RecomputeTest, ExplainShowsTheSaving) {
  const Trained with = train(deep_chain, {2048, 16}, kAgain, 1, 1),
                without = train(deep_chain, {2048, 16}, kKept, 1, 1);
  EXPECT_FALSE(contains(without.plan, "recompute")) << without.plan;
  const auto megabytes = [](std::size_t bytes) { return fmt::format("{:.2f} MB", static_cast<double>(bytes) / 1e6); };
  const double saved = static_cast<double>(without.arena - with.arena);
  EXPECT_TRUE(contains(with.plan, "of 7 segments run again")) << with.plan;
  EXPECT_TRUE(contains(
      with.plan, fmt::format("arena {} instead of {}, {:.2f} MB ({:.1f} %) saved", megabytes(with.arena),
                             megabytes(without.arena), saved / 1e6, 100 * saved / static_cast<double>(without.arena))))
      << with.plan.substr(with.plan.rfind("recompute:")) << megabytes(without.arena);
}

// Two towers on two devices, gradients averaged.
std::vector<Array> train_towers(const Block& block) {
  Graph graph;
  const GraphScope scope(graph);
  const auto optimizer = sgd({.learning_rate = 0.1f});
  std::vector<GradientsAndVariables> towers;
  std::vector<Tensor> inputs;
  for (int i = 0; i < 2; ++i) {
    const DeviceScope device("cpu:" + std::to_string(i));
    const TrainTowerContext tower("tower" + std::to_string(i), {.index = i, .total = 2});
    inputs.push_back(placeholder(f32, {2, 8, 8, 3}));
    towers.push_back(optimizer->compute_gradients(images_to_cost(inputs.back(), block)));
  }
  GradientsAndVariables mean = towers[0];
  for (std::size_t v = 0; v < mean.size(); ++v)
    mean[v].gradient = (towers[0][v].gradient + towers[1][v].gradient) * 0.5f;
  const Operation update = optimizer->apply_gradients(mean);
  Session session(graph, {.devices = {{1}, {1}}});
  session.initialize();
  const Feeds feeds{{inputs[0], Array::full(f32, {2, 8, 8, 3}, 0.3)}, {inputs[1], Array::full(f32, {2, 8, 8, 3}, -2)}};
  for (int k = 0; k < 10; ++k) session.run(update, feeds);
  EXPECT_EQ(contains(session.explain({update}, feeds), "  recomputed"), block.again);
  std::vector<Array> out;
  for (const Variable& v : graph.variables()) out.push_back(session.value(v));
  return out;
}

TEST_F(RecomputeTest, TowersOnTwoDevicesKeepTheirBits) {
  expect_same_bits({.values = train_towers(kAgain)}, {.values = train_towers(kKept)});
}

TEST_F(RecomputeTest, WhatAnotherDeviceCutsOffFromItsGradientsIsKept) {
  const auto network = [](bool again) {
    Graph graph;
    const GraphScope scope(graph);
    const Variable w = get_variable("w", {.shape = {16, 16}, .initializer = init::constant(0.1)});
    Tensor y = Block{again}(constant(Array::full(f32, {16, 16}, 1)),
                            [&](const Tensor& x) { return tanh(matmul(tanh(matmul(x, w)), w)); });
    {
      const DeviceScope other("cpu:1");
      y = reduce_sum(square(y));
    }
    const Tensor g = gradients(y, {w})[0];
    Session session(graph, {.devices = {{1}, {1}}});
    session.initialize();
    EXPECT_FALSE(contains(session.explain({g}), "  recomputed"));
    return session.run(g);
  };
  EXPECT_TRUE(equal(network(true), network(false)));
}

TEST_F(RecomputeTest, EffectsHappenOnce) {
  const Variable count = get_variable("count", {.initializer = init::zeros(), .trainable = false}),
                 w = get_variable("w", {.shape = {64, 64}, .initializer = init::constant(0.01)});
  Tensor y = constant(Array::full(f32, {64, 64}, 1));
  Tensor next;
  {
    const RecomputeScope segment;
    y = tanh(matmul(y, w));
    next = count.assign_add(1.f);
    const ControlDependencies after({next});
    y = tanh(matmul(print(check_numerics(y, "y"), "seen"), w));
  }
  const Tensor g = gradients(reduce_sum(square(y)), {w})[0];
  Session session(graph);
  session.initialize();
  int seen = 0;
  const LogRedirect log([&](LogLevel, std::string_view text) { seen += contains(std::string(text), "seen"); });
  session.run({g, y});
  EXPECT_EQ(seen, 1);
  EXPECT_EQ(session.value(count).item(), 1);
  const std::string plan = session.explain({g, y});
  EXPECT_TRUE(contains(plan, "  recomputed")) << plan;
}

TEST_F(RecomputeTest, UsersOpsRunOnce) {
  static int calls = 0;
  static const OpRegistration counted =
      define_op("RecomputeTestCounted")
          .input("x")
          .output("y")
          .shape([](const ShapeContext& c) { return c.input(0); })
          .gradient([](const GradientContext& c) { return Tensors{c.grad() * c.output(0)}; })
          .kernel([](std::span<const Array> in, std::span<Array> out) {
            ++calls;
            std::ranges::copy(in[0].values<float>(), out[0].values<float>().begin());
          })
          .doc("Counts its calls.");
  const Variable w = get_variable("w", {.shape = {32}, .initializer = init::constant(0.5)});
  Tensor y;
  {
    const RecomputeScope segment;
    y = exp(add_tensor(counted, {exp(w)}));
  }
  const Tensor g = gradients(reduce_sum(y), {w})[0];
  Session session(graph);
  session.initialize();
  calls = 0;
  session.run({g, y});
  EXPECT_EQ(calls, 1);
}

TEST_F(RecomputeTest, SecondOrderGradientsKeepTheirBits) {
  // A gradient penalty, as in WGAN-GP: the cost holds a gradient.
  const Network network = [](const Tensor& x, const Block& block) {
    Tensor y = x;
    for (int k = 0; k < 3; ++k)
      y = block(y, [&](const Tensor& in) {
        return tanh(in | conv2d("conv" + std::to_string(k), {.filters = 8, .kernel = 3, .activation = tanh}));
      });
    const Tensor slope = gradients(reduce_sum(y), {x})[0];
    return reduce_mean(square(y)) + reduce_mean(square(slope)) * 10.f;
  };
  const Trained with = train(network, {2, 8, 8, 3}, kAgain, 1), without = train(network, {2, 8, 8, 3}, kKept, 1);
  expect_same_bits(with, without);
  EXPECT_TRUE(contains(with.plan, "  recomputed")) << with.plan;
}

TEST_F(RecomputeTest, BranchesAndLoopsInsideKeepTheirBits) {
  const Network network = [](const Tensor& x, const Block& block) {
    Tensor y = x | fully_connected("first", {.units = 16});
    y = block(y, [](const Tensor& in) {
      const Tensor t = in | fully_connected("inside", {.units = 16, .activation = tanh});
      return cond(
          greater(reduce_sum(t), 0.f), [&] { return Tensors{dropout(tanh(t), 0.5)}; },
          [&] { return Tensors{t * t}; })[0];
    });
    y = block(y, [](const Tensor& in) {
      return while_loop(
          {in, constant(0.f)}, [](const Tensors& v) { return less(v[1], 3.f); },
          [](const Tensors& v) { return Tensors{tanh(v[0] * 1.5f), v[1] + 1.f}; })[0];
    });
    return reduce_mean(square(y * y));
  };
  const Trained with = train(network, {32, 16}, kAgain, 1), without = train(network, {32, 16}, kKept, 1);
  expect_same_bits(with, without);
  EXPECT_TRUE(contains(with.plan, "  recomputed")) << with.plan;
}

TEST_F(RecomputeTest, InsideABranchItKeepsItsBits) {
  const Network network = [](const Tensor& x, const Block& block) {
    const Tensor y = x | fully_connected("first", {.units = 16});
    return reduce_mean(cond(
        greater(reduce_sum(y), -1e9f),
        [&] {
          Tensor t = y;
          for (int k = 0; k < 2; ++k)
            t = block(t, [](const Tensor& in) { return tanh(dropout(tanh(in * 1.5f), 0.3)); });
          return Tensors{t};
        },
        [&] { return Tensors{y}; })[0]);
  };
  expect_same_bits(train(network, {32, 16}, kAgain, 1), train(network, {32, 16}, kKept, 1));
}

TEST_F(RecomputeTest, WithoutGradientsNothingIsDoneTwice) {
  const Tensor x = placeholder(f32, {4, 8, 8, 3});
  const PredictTowerContext tower("");
  const Tensor y = images_to_cost(x, kAgain);
  Session session(graph);
  session.initialize();
  EXPECT_FALSE(contains(session.explain({y}, {{x, Array::zeros(f32, {4, 8, 8, 3})}}), "recompute"));
}

TEST_F(RecomputeTest, OneInsideAnotherIsAnError) {
  const Tensor x = constant(1.f);
  const std::string error = error_of(
      [&] { x | recompute([](const Tensor& t) { return t | recompute([](const Tensor& u) { return tanh(u); }); }); });
  EXPECT_TRUE(contains(error, "[recompute] expected no recompute inside another, got one (at ")) << error;
  EXPECT_TRUE(contains(error, "recompute_test.cc")) << error;
  EXPECT_TRUE(contains(error, "Mark the whole or its parts, not both.")) << error;
}

TEST_F(RecomputeTest, GradientsInsideAScopeAreAnError) {
  const Variable w = get_variable("w", {.initializer = init::ones()});
  const RecomputeScope segment;
  const Tensor y = exp(w);
  const std::string error = error_of([&] { gradients(y, {w}); });
  EXPECT_TRUE(contains(error, "[gradients] expected no open RecomputeScope, got one (at ")) << error;
  EXPECT_TRUE(contains(error, "Close the scope first")) << error;
}

}  // namespace
}  // namespace belfry
