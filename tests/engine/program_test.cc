#include "belfry/engine/program.h"

#include "belfry/graph/gradients.h"
#include "belfry/ops/conv.h"
#include "belfry/ops/matmul.h"
#include "belfry/ops/optimizer.h"
#include "belfry/session/session.h"
#include "tests/engine/random_graph.h"

namespace belfry {
namespace {

SessionConfig with_devices(int count) {
  return {.devices = std::vector<DeviceConfig>(static_cast<std::size_t>(count), DeviceConfig{.threads = 1})};
}

// The values of all fetches and variables after a few runs.
std::vector<float> outcome(std::uint64_t seed, int devices) {
  Graph graph;
  const GraphScope scope(graph);
  RandomStream random(seed);
  const Request request = random_graph(random, devices, true);
  Session session(graph, with_devices(devices));
  session.initialize();
  std::vector<Fetch> fetches(request.fetches.begin(), request.fetches.end());
  for (const Operation& target : request.targets) fetches.emplace_back(target);
  Array fed(f32, {5, 8});
  for (std::int64_t i = 0; i < fed.elements(); ++i)
    fed.values<float>()[static_cast<std::size_t>(i)] = 0.1f * static_cast<float>(i % 7) - 0.3f;
  std::vector<float> out;
  for (int run = 0; run < 6; ++run)
    for (const Array& value : session.run(fetches, {{request.feeds[0].first, fed}}))
      if (value.elements() > 0) out.insert(out.end(), value.values<float>().begin(), value.values<float>().end());
  for (const Variable& v : graph.variables()) {
    const Array value = session.value(v);
    out.insert(out.end(), value.values<float>().begin(), value.values<float>().end());
  }
  return out;
}

TEST(Program, AnyGraphGivesTheSameOnAnyNumberOfDevices) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const std::vector<float> one = outcome(seed, 1);
    for (int devices : {2, 3}) {
      const std::vector<float> many = outcome(seed, devices);
      ASSERT_EQ(one.size(), many.size());
      for (std::size_t i = 0; i < one.size(); ++i) ASSERT_NEAR(one[i], many[i], 1e-5 * (1 + std::abs(one[i]))) << i;
    }
  }
}

// Two towers on two devices, one copy of the variables, gradients summed on device 0.
class TowersTest : public IrTest {
 protected:
  TowersTest() {
    for (int d = 0; d < 2; ++d) {
      inputs.push_back(placeholder({"x" + std::to_string(d), f32, {kAny, 6, 6, 3}}));  // outside of the tower's device
      const DeviceScope device("cpu:" + std::to_string(d));
      losses.push_back(reduce_mean(square(conv2d(relu(conv2d(inputs.back(), w)), u))));
      grads.push_back(gradients({losses.back()}, {w, u}));
    }
    targets.push_back(apply_sgd(w, 0.05f, grads[0][0] + grads[1][0]));
    targets.push_back(apply_sgd(u, 0.05f, grads[0][1] + grads[1][1]));
  }
  Program program() { return Program({.fetches = losses, .targets = targets, .feeds = inputs, .fed = {}}, on.target); }
  std::vector<TensorSpec> fed(std::int64_t a, std::int64_t b) const {
    return {{"", f32, {a, 6, 6, 3}}, {"", f32, {b, 6, 6, 3}}};
  }

  Variable w = var("w", {3, 3, 3, 16}), u = var("u", {3, 3, 16, 16});
  Tensors inputs, losses;
  std::vector<Tensors> grads;
  std::vector<Operation> targets;
  CpuTarget on{2};
};

TEST_F(TowersTest, EachTowerIsCompiledOncePerShapeOfItsOwn) {
  Program p = program();
  ASSERT_EQ(p.parts(), 3);
  p.plan(fed(1, 1));
  const int first = p.compiled();
  for (std::int64_t n = 2; n <= 4; ++n) p.plan(fed(n, n));
  const int all = p.compiled();
  EXPECT_LE(all - first, 3 * 2) << "three more shapes of two towers";
  for (std::int64_t a = 1; a <= 4; ++a)
    for (std::int64_t b = 1; b <= 4; ++b) p.plan(fed(a, b));
  EXPECT_EQ(p.compiled(), all) << "combinations of known shapes compile nothing";
}

TEST_F(TowersTest, AGradientCrossesWithoutACopyAndInItsLayout) {
  Program p = program();
  const auto plan = p.plan(fed(2, 2));
  for (const auto& part : plan->parts())
    for (const Instruction& i : on_cpu(part).instructions)
      EXPECT_NE(on_cpu(part).ir.node(i.node).op.name(), "Snapshot");
  const PartPlan& apply = on_cpu(plan->parts()[2]);
  for (const Instruction& i : apply.instructions) EXPECT_NE(apply.ir.node(i.node).op.name(), "Reorder");
}

// Losses of eight steps of two towers that are fed different shapes.
std::vector<float> train_towers(int devices) {
  Graph graph;
  const GraphScope scope(graph);
  const Variable w = get_variable("w", {.shape = {3, 3, 3, 16}}), u = get_variable("u", {.shape = {3, 3, 16, 16}});
  Tensors inputs, losses;
  std::vector<Tensors> grads;
  for (int d = 0; d < 2; ++d) {
    inputs.push_back(placeholder({"x" + std::to_string(d), f32, {kAny, 6, 6, 3}}));  // outside of the tower's device
    const DeviceScope device("cpu:" + std::to_string(d % devices));
    losses.push_back(reduce_mean(square(conv2d(relu(conv2d(inputs.back(), w)), u))));
    grads.push_back(gradients({losses.back()}, {w, u}));
  }
  std::vector<Fetch> fetches(losses.begin(), losses.end());
  fetches.emplace_back(Operation(apply_sgd(w, 0.05f, grads[0][0] + grads[1][0])));
  fetches.emplace_back(Operation(apply_sgd(u, 0.05f, grads[0][1] + grads[1][1])));
  Session session(graph, with_devices(devices));
  session.initialize();
  std::vector<float> out;
  for (std::int64_t step = 0; step < 8; ++step) {
    const auto values = session.run(fetches, {{inputs[0], Array::full(f32, {1 + step % 3, 6, 6, 3}, 0.1)},
                                              {inputs[1], Array::full(f32, {1 + step % 2, 6, 6, 3}, 0.2)}});
    for (int i : {0, 1}) out.push_back(static_cast<float>(values[static_cast<std::size_t>(i)].item()));
  }
  return out;
}

TEST(Towers, TowersWithDifferentShapesTrainAsOneDeviceDoes) {
  const std::vector<float> one = train_towers(1), two = train_towers(2);
  EXPECT_EQ(two, train_towers(2)) << "not the same bits again";
  ASSERT_EQ(one.size(), two.size());
  for (std::size_t i = 0; i < one.size(); ++i) EXPECT_NEAR(one[i], two[i], 1e-5f * (1 + std::abs(one[i])));
  EXPECT_LT(two[14], two[0]);
}

TEST(Towers, AReadWaitsThroughAGroupOnAnotherDevice) {
  Graph graph;
  const GraphScope scope(graph);
  const Variable v = get_variable(
      "v", {.shape = {4096}, .initializer = [](const Shape& s, DType d) { return constant(Array::full(d, s, 0)); }});
  const Tensor one = placeholder({"one", f32, {4096}});
  Tensor slow = one;
  for (int i = 0; i < 20; ++i) slow = tanh(sin(slow)) + 1.f;
  const Operation write = v.assign(one + slow * 0.f);
  Operation mark;
  {
    const DeviceScope device("cpu:1");
    mark = group({write});
  }
  Tensor read;
  {
    const DeviceScope device("cpu:2");
    const ControlDependencies after({mark});
    read = v.read();
  }
  Session session(graph, with_devices(3));
  for (int i = 0; i < 20; ++i) {
    session.initialize(true);
    ASSERT_EQ(session.run(read, {{one, Array::full(f32, {4096}, 1)}}).item(4095), 1);
  }
}

}  // namespace
}  // namespace belfry
