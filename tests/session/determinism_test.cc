// The same program and seed give the same bits: run after run, in every session, whatever else is fetched.
#include <gtest/gtest.h>

#include "belfry/base/random.h"
#include "belfry/graph/gradients.h"
#include "belfry/graph/graph.h"
#include "belfry/graph/scope.h"
#include "belfry/ops/array_ops.h"
#include "belfry/ops/basic.h"
#include "belfry/ops/batch_norm.h"
#include "belfry/ops/conv.h"
#include "belfry/ops/matmul.h"
#include "belfry/ops/optimizer.h"
#include "belfry/ops/pointwise.h"
#include "belfry/ops/pool.h"
#include "belfry/ops/random.h"
#include "belfry/ops/reduce.h"
#include "belfry/ops/softmax.h"
#include "belfry/session/session.h"

namespace belfry {
namespace {

Array noise(const Shape& shape, std::uint64_t seed) {
  RandomStream stream(seed);
  Array out(f32, shape);
  for (float& v : out.values<float>()) v = static_cast<float>(2 * stream.uniform() - 1);
  return out;
}

// A small convnet with everything that is fused, every layer's value kept, and one training step.
struct ConvNet {
  explicit ConvNet(std::uint64_t seed = 0) {
    graph.set_seed(seed);
    const GraphScope scope(graph);
    image = placeholder({"image", f32, {kAny, 8, 8, 3}});
    label = placeholder({"label", i32, {kAny}});
    const auto keep = [&](const Tensor& t) { return layers.emplace_back(t); };
    const auto weight = [](const char* name, const Shape& shape) {
      return get_variable(name, {.shape = shape, .initializer = [](const Shape& s, DType) {
                                   return random_normal(s, {.stddev = 0.3});
                                 }});
    };
    Tensor x = keep(conv2d(image, weight("conv0/W", {3, 3, 3, 20})));
    x = keep(x + weight("conv0/b", {20}));
    x = keep(relu(x));
    x = keep(max_pool2d(x));
    const Tensor shortcut = x;
    x = keep(conv2d(x, weight("conv1/W", {3, 3, 20, 20})));
    x = keep(x + weight("conv1/b", {20}));
    x = keep(batch_norm(x, weight("bn/gamma", {20}), weight("bn/beta", {20})).y);
    x = keep(x + shortcut);
    x = keep(relu(x));
    x = keep(batch_flatten(x));
    x = keep(matmul(x, weight("fc0/W", {320, 32})));
    x = keep(x + weight("fc0/b", {32}));
    x = keep(relu(x));
    x = keep(dropout(x, 0.5));
    x = keep(tanh(x) * 0.5f + square(x));
    x = keep(matmul(x, weight("fc1/W", {32, 10})));
    loss = reduce_mean(sparse_softmax_cross_entropy(x, label));
    const std::vector<Variable> variables = graph.variables();
    for (const Variable& v : variables)
      if (v.name().ends_with("W")) loss = loss + reduce_sum(square(v * 0.3f));  // its gradient is v times two numbers
    const Tensors g = gradients(loss, variables);
    layers.push_back(g[0]);
    std::vector<Operation> updates;
    for (std::size_t i = 0; i < variables.size(); ++i) {
      const Variable slot = new_variable("slot", {.shape = variables[i].shape()});
      updates.emplace_back(apply_momentum(variables[i], slot, 0.05f, g[i]));
    }
    step = group(updates);
  }

  Feeds feeds(std::uint64_t seed, std::int64_t batch = 16) const {
    Array labels(i32, {batch});
    for (std::int64_t i = 0; i < batch; ++i) labels.set_item(i, static_cast<double>(i % 10));
    return {{image, noise({batch, 8, 8, 3}, seed)}, {label, labels}};
  }

  // The losses of a few steps and all variables after them; `also` is fetched along.
  std::vector<Array> train(Session& session, const std::vector<Fetch>& also = {}) const {
    session.initialize(true);
    std::vector<Array> out;
    for (std::uint64_t i = 0; i < 2; ++i) {
      std::vector<Fetch> fetches{step, loss};
      fetches.insert(fetches.end(), also.begin(), also.end());
      out.push_back(session.run(fetches, feeds(i), {.random_step = i})[1]);
    }
    for (const Variable& v : graph.variables()) out.push_back(session.value(v));
    return out;
  }

  Graph graph;
  Tensor image, label, loss;
  Tensors layers;
  Operation step;
};

void expect_same_bits(const std::vector<Array>& a, const std::vector<Array>& b, const std::string& what) {
  ASSERT_EQ(a.size(), b.size()) << what;
  for (std::size_t i = 0; i < a.size(); ++i)
    ASSERT_TRUE(equal(a[i], b[i])) << what << ", value " << i << ": " << to_string(a[i]) << " and " << to_string(b[i]);
}

TEST(Determinism, TheSameProgramGivesTheSameBitsInEverySession) {
  ConvNet net, again;
  Session first(net.graph), second(net.graph), third(again.graph);
  const std::vector<Array> wanted = net.train(first);
  expect_same_bits(wanted, net.train(second), "another session");
  expect_same_bits(wanted, again.train(third), "another graph from the same code");
}

TEST(Determinism, AnotherGraphSeedGivesOtherBits) {
  ConvNet net(0), other(1);
  Session first(net.graph), second(other.graph);
  const std::vector<Array> a = net.train(first), b = other.train(second);
  for (std::size_t i = 0; i < 2; ++i) EXPECT_FALSE(equal(a[i], b[i]));
}

TEST(Determinism, AddingAFetchNeverChangesTheRest) {
  ConvNet net;
  Session session(net.graph);
  const std::vector<Array> wanted = net.train(session);
  for (std::size_t i = 0; i < net.layers.size(); ++i)
    expect_same_bits(wanted, net.train(session, {net.layers[i]}),
                     "with '" + net.layers[i].name() + "', layer " + std::to_string(i));
  session.initialize(true);
  for (std::uint64_t i = 0; i < 2; ++i) session.run(net.step, net.feeds(i), {.random_step = i});  // not even the loss
  std::vector<Array> trained;
  for (const Variable& v : net.graph.variables()) trained.push_back(session.value(v));
  expect_same_bits({wanted.begin() + 2, wanted.end()}, trained, "without the loss");
  Session all(net.graph);  // the first plan of a session decides layouts
  expect_same_bits(wanted, net.train(all, std::vector<Fetch>(net.layers.begin(), net.layers.end())), "with everything");
}

TEST(Determinism, RandomOpsDoNotDependOnThreads) {
  Graph graph;
  const GraphScope scope(graph);
  const Tensor x = placeholder({"x", f32, {kAny, 300}});
  const std::vector<Fetch> fetches{random_uniform({100, 300}), random_normal({100, 300}), truncated_normal({100, 300}),
                                   dropout(x, 0.3), dropout(x * 1.5f, 0.7)};
  const Feeds feeds{{x, noise({200, 300}, 3)}};
  Session one(graph, {.devices = {{1}}}), two(graph, {.devices = {{2}}});
  for (std::uint64_t step = 0; step < 3; ++step)
    expect_same_bits(one.run(fetches, feeds, {.random_step = step}), two.run(fetches, feeds, {.random_step = step}),
                     "step " + std::to_string(step));
}

TEST(Determinism, RandomNumbersFollowTheStepAndTheSessionsOwnCounterApart) {
  Graph graph;
  const GraphScope scope(graph);
  const Tensor r = random_uniform({8});
  Session session(graph);
  const Array fifth = session.run(r, {}, {.random_step = 5}), own = session.run(r);
  EXPECT_TRUE(equal(fifth, session.run(r, {}, {.random_step = 5})));
  EXPECT_FALSE(equal(fifth, session.run(r, {}, {.random_step = 6})));
  EXPECT_FALSE(equal(own, session.run(r)));  // the counter moved on
  session.set_random_counter(0);
  EXPECT_TRUE(equal(own, session.run(r)));
  EXPECT_FALSE(equal(session.run(r, {}, {.random_step = 0}), own));  // two sequences
}

TEST(Determinism, RandomOpsOfDifferentNamesAndReplicasDiffer) {
  Graph graph;
  const GraphScope scope(graph);
  const Tensor a = random_uniform({8}, {}, "a"), b = random_uniform({8}, {}, "b");
  Session session(graph);
  const std::vector<Array> out = session.run({a, b}, {}, {.random_step = 0});
  EXPECT_FALSE(equal(out[0], out[1]));
  Graph other;
  const GraphScope inner(other);
  const ReplicaScope replica(1);
  const Tensor same_name = random_uniform({8}, {}, "a");
  EXPECT_FALSE(equal(out[0], Session(other).run(same_name, {}, {.random_step = 0})));
}

}  // namespace
}  // namespace belfry
