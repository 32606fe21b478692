#include "belfry/ops/array_ops.h"
#include "belfry/ops/optimizer.h"
#include "belfry/ops/pointwise.h"
#include "tests/engine/ir_testing.h"

namespace belfry {
namespace {

class OrderVariablesTest : public IrTest {
 protected:
  Ir ordered(const Request& request, int devices = 1) const {
    Ir ir = simplified(request, devices);
    order_variables(ir);
    topological(ir);  // throws if there is a cycle
    return ir;
  }
  // What a node reads in place of the variable itself.
  static std::string_view source(const Ir& ir, NodeId id, int input = 0) {
    return ir.op_of(ir.node(id).inputs[static_cast<std::size_t>(input)]).name();
  }
};

TEST_F(OrderVariablesTest, ReadersComeBeforeTheAssignment) {
  const Variable v = var("v", {2});
  const Tensor next = v.assign(var("x", {2}).value()), old = exp(v);
  const Ir ir = ordered({.fetches = {old, v.value()}, .targets = {next}});
  EXPECT_EQ(count_of(ir, "Snapshot"), 0);
  EXPECT_TRUE(comes_before(ir, the(ir, "Exp"), the(ir, "Assign")));
  EXPECT_TRUE(comes_before(ir, ir.roots[1], the(ir, "Assign")));  // the fetch of v itself
}

TEST_F(OrderVariablesTest, TheResultOfAnAssignmentLiesInTheVariable) {
  const Variable v = var("v", {2});
  const Ir ir = ordered({.fetches = {v.assign_add(v)}});
  EXPECT_EQ(ir.value(ir.node(the(ir, "AssignAdd")).outputs[0]).variable, v.node());
}

TEST_F(OrderVariablesTest, AReaderThatNeedsTheAssignmentReadsASnapshotTakenBefore) {
  const Variable v = var("v", {2});
  const Tensor next = v.assign(exp(v));
  const Ir ir = ordered({.fetches = {next - v}});
  EXPECT_EQ(source(ir, the(ir, "Sub"), 1), "Snapshot");
  EXPECT_EQ(source(ir, the(ir, "Exp")), "Variable");  // no need for the copy here
  EXPECT_TRUE(comes_before(ir, the(ir, "Snapshot"), the(ir, "Assign")));
}

TEST_F(OrderVariablesTest, TwoLateReadersShareOneSnapshot) {
  const Variable v = var("v", {2});
  const Tensor next = v.assign(exp(v));
  const Ir ir = ordered({.fetches = {next - v, next * v}});
  EXPECT_EQ(count_of(ir, "Snapshot"), 1);
  EXPECT_EQ(ir.node(the(ir, "Sub")).inputs[1], ir.node(the(ir, "Mul")).inputs[1]);
}

TEST_F(OrderVariablesTest, AReaderBehindAControlPathOfTheAssignmentReadsTheSnapshotToo) {
  const Variable v = var("v", {2});
  const Tensor next = v.assign(var("x", {2}).value());
  Tensor old;
  {
    const ControlDependencies after({next});
    old = exp(v.value());
  }
  const Ir ir = ordered({.fetches = {old}});
  EXPECT_EQ(source(ir, the(ir, "Exp")), "Snapshot");
}

TEST_F(OrderVariablesTest, AnExplicitReadStandsWhereItsControlInputsPutIt) {
  const Variable v = var("v", {2});
  const Tensor before = v.read(), next = v.assign(exp(v));
  Tensor after;
  {
    const ControlDependencies control({next});
    after = v.read();
  }
  const Ir ir = ordered({.fetches = {before, after}});
  EXPECT_EQ(count_of(ir, "Snapshot"), 0);
  EXPECT_TRUE(comes_before(ir, made_from(ir, before), the(ir, "Assign")));
  EXPECT_TRUE(comes_before(ir, the(ir, "Assign"), made_from(ir, after)));
}

TEST_F(OrderVariablesTest, ReadersThroughAViewAreReaders) {
  const Variable v = var("v", {4});
  const Tensor view = reshape(v, {2, 2}), next = v.assign(var("x", {4}).value()), old = exp(view);
  const Ir ir = ordered({.fetches = {old}, .targets = {next}});
  EXPECT_EQ(count_of(ir, "Snapshot"), 0);
  EXPECT_TRUE(comes_before(ir, the(ir, "Exp"), the(ir, "Assign")));
}

TEST_F(OrderVariablesTest, AViewWhoseReaderNeedsTheAssignmentIsAViewOfTheSnapshot) {
  const Variable v = var("v", {4});
  const Tensor twice = expand_dims(reshape(v, {2, 2}), 0), next = v.assign(exp(v));
  const Ir ir = ordered({.fetches = {reshape(next, {1, 2, 2}) - twice}});
  const NodeId outer = ir.producer(ir.node(the(ir, "Sub")).inputs[1]);
  ASSERT_EQ(ir.node(outer).op.name(), "ExpandDims");
  const NodeId inner = ir.producer(ir.node(outer).inputs[0]);
  EXPECT_EQ(source(ir, inner), "Snapshot");
  EXPECT_TRUE(comes_before(ir, the(ir, "Snapshot"), the(ir, "Assign")));
}

TEST_F(OrderVariablesTest, AReaderOfTheVariableAndOfAViewReadsTheSnapshotForBoth) {
  const Variable v = var("v", {4});
  const Tensor view = reshape(v, {1, 4}), next = v.assign(exp(v));
  const Ir ir = ordered({.fetches = {concat({next, v, reshape(exp(view), {4}), squeeze(view)}, 0)}});
  EXPECT_EQ(source(ir, the(ir, "Concat"), 1), "Snapshot");
  EXPECT_TRUE(comes_before(ir, the(ir, "Snapshot"), the(ir, "Assign")));
  for (const IrNode& node : ir.nodes())
    EXPECT_TRUE(node.dead || node.op != op_kind("Reshape") || !ir.is_op(node.inputs[0], op_kind("Variable")));
}

// An edge that the pass adds for one variable must not look like a path of the user's to the next: `read` comes after
// w's assignment only, but w's assignment has to wait for v's, which reads w.
TEST_F(OrderVariablesTest, OnlyTheUsersPathsDecideWhatAReadSees) {
  const Variable w = var("w", {2}), v = var("v", {2});
  const Tensor of_v = v.assign_add(w.value()), of_w = w.assign_add(var("x", {2}).value());
  Tensor read;
  {
    const ControlDependencies after({of_w});
    read = v.read();
  }
  const Ir ir = ordered({.fetches = {read, of_v}});
  EXPECT_EQ(source(ir, the(ir, "ReadVariable")), "Snapshot");
  EXPECT_TRUE(comes_before(ir, the(ir, "Snapshot"), made_from(ir, of_v)));
}

TEST_F(OrderVariablesTest, UnorderedAssignmentsAreRefusedWithBothLines) {
  const Variable v = var("v", {});
  const Tensor a = v.assign(2.f), b = v.assign_add(3.f);
  const std::string line = std::to_string(__LINE__ - 1);
  const std::string text = error_of([&] { ordered({.targets = {a, b}}); });
  EXPECT_NE(text.find("[Variable 'v'] expected ordered assignments in one run"), std::string::npos) << text;
  EXPECT_NE(text.find("[Assign 'Assign'] (made at order_variables_test.cc:" + line + ")"), std::string::npos) << text;
  EXPECT_NE(text.find("[AssignAdd 'AssignAdd'] (made at order_variables_test.cc:" + line + ")"), std::string::npos)
      << text;
}

TEST_F(OrderVariablesTest, AnyPathOrdersAssignmentsAndTheFirstResultSurvives) {
  const Variable v = var("v", {2});
  const Tensor first = v.assign(var("x", {2}).value());
  const Tensor second = v.assign_add(exp(first)), both = tanh(first) + second;
  const Ir ir = ordered({.fetches = {both}});
  EXPECT_EQ(source(ir, the(ir, "Tanh")), "Snapshot");  // of what the first one gave
  EXPECT_EQ(source(ir, the(ir, "Add"), 1), "AssignAdd");
  EXPECT_TRUE(comes_before(ir, the(ir, "Snapshot"), the(ir, "AssignAdd")));
  EXPECT_TRUE(comes_before(ir, the(ir, "Assign"), the(ir, "Snapshot")));
}

TEST_F(OrderVariablesTest, AResultThatNobodyReadsIsNotCopied) {
  const Variable v = var("v", {2});
  const Tensor first = v.assign(var("x", {2}).value());
  const ControlDependencies after({first});
  const Ir ir = ordered({.targets = {v.assign_add(var("y", {2}).value())}});
  EXPECT_EQ(count_of(ir, "Snapshot"), 0);
}

TEST_F(OrderVariablesTest, SlotsAreWrittenVariablesToo) {
  const Variable w = var("w", {2}), slot = var("slot", {2});
  const Tensor next = apply_momentum(w, slot, 0.1f, exp(w)), old = tanh(slot);
  const Ir ir = ordered({.fetches = {old}, .targets = {next}});
  EXPECT_TRUE(comes_before(ir, the(ir, "Tanh"), the(ir, "ApplyMomentum")));
  EXPECT_NE(error_of([&] {
              ordered({.targets = {next, slot.assign(w.value())}});
            }).find("[Variable 'slot'] expected ordered assignments"),
            std::string::npos);
}

TEST_F(OrderVariablesTest, AssigningToAValueThatIsNoVariableIsAnError) {
  const Variable v = var("v", {2});
  const Tensor next = v.assign(exp(v));
  const std::string text = error_of([&] { ordered({.targets = {next}, .feeds = {{v.handle(), {2}}}}); });
  EXPECT_NE(text.find("[Assign 'Assign'] expected a variable as input 0, got 'v'"), std::string::npos) << text;
}

}  // namespace
}  // namespace belfry
