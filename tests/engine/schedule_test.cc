#include "belfry/graph/gradients.h"
#include "belfry/ops/matmul.h"
#include "belfry/ops/optimizer.h"
#include "belfry/ops/pointwise.h"
#include "tests/engine/ir_testing.h"

namespace belfry {
namespace {

class ScheduleTest : public IrTest {
 protected:
  Ir ordered(const Request& request, int devices = 1) const {
    Ir ir = simplified(request, devices);
    order_variables(ir);
    return ir;
  }
};

void expect_topological(const Ir& ir, const std::vector<NodeId>& order) {
  std::vector<int> at(ir.nodes().size(), -1);
  for (int i = 0; i < static_cast<int>(order.size()); ++i) {
    EXPECT_EQ(at[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])], -1) << "a node twice";
    at[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])] = i;
  }
  for (NodeId id = 0; id < static_cast<NodeId>(ir.nodes().size()); ++id) {
    const IrNode& node = ir.node(id);
    EXPECT_EQ(at[static_cast<std::size_t>(id)] == -1, node.dead);
    if (node.dead) continue;
    for (ValueId v : node.inputs)
      EXPECT_LT(at[static_cast<std::size_t>(ir.producer(v))], at[static_cast<std::size_t>(id)]);
    for (NodeId before : node.after)
      EXPECT_TRUE(ir.node(before).dead || at[static_cast<std::size_t>(before)] < at[static_cast<std::size_t>(id)]);
  }
}

TEST_F(ScheduleTest, UpdatesRunAsSoonAsTheirGradientsAreThere) {
  Tensor y = var("x", {2, 3});
  std::vector<Variable> weights;
  for (const char* name : {"w0", "w1", "w2", "w3"}) y = tanh(matmul(y, weights.emplace_back(var(name, {3, 3}))));
  const Tensors g = gradients(y, weights);
  std::vector<Operation> updates;
  const Tensor rate = exp(var("log_rate", {})) * 0.1f;  // made after the gradients
  for (std::size_t i = 0; i < weights.size(); ++i) updates.emplace_back(apply_sgd(weights[i], rate, g[i]));
  const Ir ir = ordered({.targets = updates});
  const std::vector<NodeId> order = schedule(ir);
  expect_topological(ir, order);
  for (std::size_t i = 1; i < weights.size(); ++i) {
    // Backward goes from the last weight to the first, and each is updated before the next one's gradient is made.
    const int updated = position(order, made_from(ir, updates[i])),
              next_gradient = position(order, made_from(ir, g[i - 1]));
    EXPECT_LT(updated, next_gradient) << "weight " << i;
  }
}

TEST_F(ScheduleTest, AGradientThatNeedsAShapeIsNotPutOffToTheEnd) {
  Tensor y = var("x", {2, 3});
  std::vector<Variable> biases;
  for (const char* name : {"b0", "b1"}) y = tanh(y + biases.emplace_back(var(name, {3})));
  const Tensors g = gradients(y, biases);
  std::vector<Operation> updates;
  for (std::size_t i = 0; i < biases.size(); ++i) updates.emplace_back(apply_sgd(biases[i], 0.1f, g[i]));
  const Ir ir = ordered({.targets = updates});
  const std::vector<NodeId> order = schedule(ir);
  expect_topological(ir, order);
  EXPECT_EQ(g[1].node()->def->name, "SumToLike");
  EXPECT_LT(position(order, made_from(ir, updates[1])), position(order, made_from(ir, g[0])));
}

TEST_F(ScheduleTest, TheOrderOfTheGraphIsKeptOtherwise) {
  const Tensor a = exp(var("a", {2})), b = tanh(var("b", {2})), c = b * a;
  const Ir ir = ordered({.fetches = {c}});
  const std::vector<NodeId> order = schedule(ir);
  expect_topological(ir, order);
  EXPECT_LT(position(order, made_from(ir, a)), position(order, made_from(ir, b)));
}

TEST_F(ScheduleTest, FetchesCopyTheirValueAtOnce) {
  const Tensor a = exp(var("a", {2})), b = tanh(a), c = sin(b);
  const Ir ir = ordered({.fetches = {c, a}});
  const std::vector<NodeId> order = schedule(ir);
  EXPECT_EQ(position(order, ir.roots[1]), position(order, made_from(ir, a)) + 1);
}

TEST_F(ScheduleTest, ANodeWithARankTakesThatPlace) {
  const Tensor a = exp(var("a", {2})), b = tanh(var("b", {2})), c = sin(var("c", {2}));
  Ir ir = ordered({.fetches = {a + b + c}});
  ir.change(made_from(ir, a), [&](IrNode& node) { node.rank = made_from(ir, c); });
  const std::vector<NodeId> order = schedule(ir);
  expect_topological(ir, order);
  EXPECT_LT(position(order, made_from(ir, b)), position(order, made_from(ir, a)));
}

TEST_F(ScheduleTest, WhatAnotherDeviceWaitsForComesFirst) {
  const Tensor start = exp(var("v", {4}));
  const Tensor own = tanh(start), more = tanh(own), awaited = sin(start);
  Tensor there;
  {
    const DeviceScope device("cpu:1");
    there = cos(awaited);
  }
  const Partition parts = partition(pruned({.fetches = {more, there}}, 2), cpu_infos(2));
  ASSERT_EQ(parts.parts.size(), 2U);
  Ir ir = parts.parts[0].ir;
  infer_shapes(ir);
  simplify(ir);
  order_variables(ir);
  settle_sends(ir, parts.crossings);
  const std::vector<NodeId> order = schedule(ir);
  expect_topological(ir, order);
  EXPECT_LT(position(order, made_from(ir, awaited)), position(order, made_from(ir, own)));  // though it was built last
}

TEST_F(ScheduleTest, OneOrderServesAllDevices) {
  Tensor x = var("x", {2});
  for (int i = 0; i < 6; ++i) {
    const DeviceScope device("cpu:" + std::to_string(i % 2));
    x = tanh(x) * x;
  }
  const Ir ir = ordered({.fetches = {x}}, 2);
  expect_topological(ir, schedule(ir));
}

}  // namespace
}  // namespace belfry
