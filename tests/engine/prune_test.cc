#include "belfry/ops/array_ops.h"
#include "belfry/ops/internal/cross_tower.h"
#include "belfry/ops/pointwise.h"
#include "tests/engine/ir_testing.h"

namespace belfry {
namespace {

using PruneTest = IrTest;
using Names = std::vector<std::string>;

TEST_F(PruneTest, KeepsOnlyWhatTheFetchesNeed) {
  const Variable w = var("w", {2}), unused = var("unused", {2});
  const Tensor y = exp(w);
  tanh(unused);
  const Ir ir = pruned({.fetches = {y}});
  EXPECT_EQ(ops_of(ir), (Names{"Exp", "Fetch", "Variable"}));
  EXPECT_EQ(ir.node(made_from(ir, w.handle())).origin->name, "w");
  EXPECT_EQ(ir.roots, std::vector{the(ir, "Fetch")});
}

TEST_F(PruneTest, AVariablesMemoryIsMarked) {
  const Variable w = var("w", {2});
  const Ir ir = pruned({.fetches = {exp(w)}});
  EXPECT_EQ(ir.value(ir.node(the(ir, "Variable")).outputs[0]).variable, w.node());
  EXPECT_EQ(ir.value(ir.node(the(ir, "Exp")).outputs[0]).variable, nullptr);
}

TEST_F(PruneTest, AFeedCutsTheGraph) {
  const Tensor x = placeholder({"x", f32, {kAny}});
  const Tensor middle = exp(x), y = tanh(middle);
  const Ir ir = pruned({.fetches = {y}, .feeds = {{middle, {7}}}});
  EXPECT_EQ(ops_of(ir), (Names{"Feed", "Fetch", "Tanh"}));
  EXPECT_EQ(ir.info(ir.node(the(ir, "Feed")).outputs[0]).shape, Shape({7}));
}

TEST_F(PruneTest, OneFedOutputDoesNotCutItsSiblings) {
  const Tensor x = var("x", {4});
  const Tensors parts = split(x, 2, 0);
  const Ir ir = pruned({.fetches = {exp(parts[0]), tanh(parts[1])}, .feeds = {{parts[1], {2}}}});
  EXPECT_EQ(ops_of(ir), (Names{"Exp", "Feed", "Fetch", "Fetch", "Split", "Tanh", "Variable"}));
  EXPECT_TRUE(ir.is_op(ir.node(the(ir, "Tanh")).inputs[0], op_kind("Feed")));
  EXPECT_TRUE(ir.is_op(ir.node(the(ir, "Exp")).inputs[0], op_kind("Split")));
}

TEST_F(PruneTest, AFedTensorCanBeFetched) {
  const Tensor x = placeholder({"x", f32, {kAny}});
  EXPECT_EQ(ops_of(pruned({.fetches = {x}, .feeds = {{x, {3}}}})), (Names{"Feed", "Fetch"}));
}

TEST_F(PruneTest, ASumAcrossTowersHasTheInputsOfAllInTheirOrder) {
  const auto sum = [](int tower, const Tensor& x) {
    return cross_tower_sum(x, {.layer = "norm", .name = "here", .tower = tower, .total = 2});
  };
  const Variable a = var("a", {2}), b = var("b", {2});
  const Tensor first = exp(a), in_first = sum(0, first), second = tanh(b), in_second = sum(1, second);
  const Ir both = pruned({.fetches = {in_second, in_first}});
  for (const Tensor& made : {in_first, in_second}) {
    const std::vector<ValueId>& inputs = both.node(made_from(both, made)).inputs;
    ASSERT_EQ(inputs.size(), 2u);
    EXPECT_EQ(both.op_of(inputs[0]).name(), "Exp");
    EXPECT_EQ(both.op_of(inputs[1]).name(), "Tanh");
  }
  for (NodeId id = 0; id < static_cast<NodeId>(both.nodes().size()); ++id)
    for (ValueId v : both.node(id).inputs) EXPECT_LT(both.producer(v), id);
  for (NodeId root : both.roots) EXPECT_EQ(both.node(root).op.name(), "Fetch");
  // The sum of one tower needs what that of the other is given, and not the other itself.
  EXPECT_EQ(ops_of(pruned({.fetches = {in_first}})),
            (Names{"CrossTowerSum", "Exp", "Fetch", "Tanh", "Variable", "Variable"}));
  EXPECT_EQ(ops_of(pruned({.fetches = {in_first}, .feeds = {{second, {2}}}})),
            (Names{"CrossTowerSum", "Exp", "Feed", "Fetch", "Variable"}));
}

TEST_F(PruneTest, ControlInputsAreNeededAndOrdered) {
  const Variable v = var("v", {});
  const Tensor next = v.assign(2.f), x = var("x", {});
  Tensor y;
  {
    const ControlDependencies after({next});
    y = exp(x);
  }
  const Ir ir = pruned({.fetches = {y}});
  EXPECT_EQ(ir.node(the(ir, "Exp")).after, std::vector{the(ir, "Assign")});
}

TEST_F(PruneTest, TargetsAreRootsWithoutFetches) {
  const Variable v = var("v", {});
  const Tensor next = v.assign(2.f);
  const Ir ir = pruned({.targets = {next}});
  EXPECT_EQ(count_of(ir, "Fetch"), 0);
  EXPECT_EQ(ir.roots, std::vector{the(ir, "Assign")});
}

TEST_F(PruneTest, FetchesKeepTheirOrderAndMayRepeat) {
  const Tensor x = var("x", {2}), y = exp(x);
  const Ir ir = pruned({.fetches = {y, x, y}});
  std::vector<std::string_view> fetched;
  for (const NodeId id : ir.roots) {
    fetched.push_back(ir.op_of(ir.node(id).inputs[0]).name());
    EXPECT_EQ(ir.node(id).attributes.integer("index"), static_cast<std::int64_t>(fetched.size()) - 1);
  }
  EXPECT_EQ(fetched, (std::vector<std::string_view>{"Exp", "Variable", "Exp"}));
}

TEST_F(PruneTest, NodesGoToTheirDevices) {
  const Tensor x = var("x", {2});
  Tensor y;
  {
    const DeviceScope device("cpu:1");
    y = exp(x);
  }
  const Ir ir = pruned({.fetches = {y}}, 2);
  EXPECT_EQ(ir.node(the(ir, "Exp")).device, 1);
  EXPECT_EQ(ir.node(the(ir, "Variable")).device, 0);
  EXPECT_NE(error_of([&] { pruned({.fetches = {y}}, 1); }).find("expected a device of the session (cpu:0), got cpu:1"),
            std::string::npos);
}

TEST_F(PruneTest, APlaceholderThatNobodyFeedsIsAnErrorOnlyIfNeeded) {
  const Tensor x = placeholder({"x", f32, {kAny}}), w = var("w", {2});
  EXPECT_NE(
      error_of([&] { pruned({.fetches = {exp(x)}}); }).find("[Placeholder 'x'] expected a value to be fed, got none"),
      std::string::npos);
  EXPECT_NO_THROW(pruned({.fetches = {exp(w)}}));
}

}  // namespace
}  // namespace belfry
