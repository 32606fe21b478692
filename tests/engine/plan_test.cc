#include <atomic>
#include <thread>

#include "belfry/engine/device_team.h"
#include "belfry/engine/program.h"
#include "belfry/graph/gradients.h"
#include "belfry/ops/array_ops.h"
#include "belfry/ops/matmul.h"
#include "belfry/ops/optimizer.h"
#include "belfry/ops/pointwise.h"
#include "belfry/ops/reduce.h"
#include "tests/engine/ir_testing.h"

namespace belfry {
namespace {

std::atomic<bool> should_fail = false;

// Passes x on, or throws while should_fail is set.
OpRegistration fragile() {
  static const OpRegistration op = define_op("TestFragile")
                                       .input("x")
                                       .output("y")
                                       .shape([](const ShapeContext& c) { return c.input(0); })
                                       .not_differentiable()
                                       .kernel([](std::span<const Array> in, std::span<Array> out) {
                                         if (should_fail) throw Error("told to fail");
                                         std::ranges::copy(in[0].values<float>(), out[0].values<float>().begin());
                                       })
                                       .doc("For tests of failures.");
  return op;
}

class PlanTest : public IrTest {
 protected:
  explicit PlanTest(int devices = 2) : team(cpu_infos(devices)), on(devices) {}
  std::unique_ptr<Plan> compiled(const Request& request) { return program(request).plan(signature_of(request).fed); }
  Program program(const Request& request) { return Program(signature_of(request), on.target); }

  std::vector<Array> run(Plan& plan, const std::vector<Array>& feeds = {}) {
    std::vector<const void*> in;
    std::vector<void*> out;
    std::vector<Array> results;
    for (const Array& a : feeds) in.push_back(a.raw());
    for (const auto& info : plan.fetched()) out.push_back(results.emplace_back(info->dtype, info->shape).raw());
    plan.run({}, in, out, team, nullptr);
    return results;
  }
  Variable filled(const char* name, const Shape& shape, float value) {
    const Variable v = var(name, shape);
    on.variables.set(v.node(), Array::full(f32, shape, value));
    return v;
  }
  // The ops that run, part by part.
  static std::vector<std::string> ops(const Plan& plan) {
    std::vector<std::string> out;
    for (const auto& part : plan.parts())
      for (const Instruction& i : on_cpu(part).instructions) out.push_back(on_cpu(part).ir.node(i.node).op.name());
    return out;
  }

  DeviceTeam team;
  CpuTarget on;
};

TEST_F(PlanTest, VariablesConstantsAndViewsRunNothing) {
  const Variable v = filled("v", {2, 3}, 1);
  const Tensor y = matmul(reshape(v, {3, 2}), constant(Array::full(f32, {2, 4}, 2)));
  const auto plan = compiled({.fetches = {y}});
  EXPECT_EQ(ops(*plan), (std::vector<std::string>{"MatMul", "Fetch"}));
  EXPECT_EQ(run(*plan)[0].item(), 4);
}

TEST_F(PlanTest, InstructionsWaitOnlyAcrossDevices) {
  const Variable v = filled("v", {4}, 0.5f);
  const Tensor here = v.value() * 2.f;
  Tensor there, more;
  {
    const DeviceScope device("cpu:1");
    there = reduce_sum(here, {.keep_dims = true});
    more = matmul(reshape(there, {1, 1}), reshape(there, {1, 1}));
  }
  const auto plan = compiled({.fetches = {more}});
  ASSERT_EQ(plan->parts().size(), 2u);
  EXPECT_TRUE(plan->waits()[0].empty());
  ASSERT_EQ(plan->waits()[1].size(), 1u);
  EXPECT_EQ(plan->waits()[1][0].part, 0);
  EXPECT_EQ(plan->waits()[1][0].position, 0);
  EXPECT_EQ(plan->waits()[1][0].done, 1);
  for (int i = 0; i < 50; ++i) ASSERT_EQ(run(*plan)[0].item(), 16);
}

// The last layer's gradient is the first: its reduction elsewhere does not wait for the others, even if what is reduced
// was built when all of them were there.
TEST_F(PlanTest, AReductionElsewhereOverlapsTheRestOfTheBackwardPass) {
  Tensor y = filled("x", {2, 3}, 0.1f);
  std::vector<Variable> weights;
  for (const char* name : {"w0", "w1", "w2"}) y = tanh(matmul(y, weights.emplace_back(filled(name, {3, 3}, 0.1f))));
  const Tensors g = gradients(y, weights);
  Tensors shares, reduced;
  for (const Tensor& gradient : g) shares.push_back(transpose(gradient, {1, 0}));
  {
    const DeviceScope device("cpu:1");
    for (const int i : {2, 1, 0}) reduced.push_back(reduce_sum(shares[static_cast<std::size_t>(i)], {.axes = {0}}));
  }
  const auto plan = compiled({.fetches = reduced});
  ASSERT_EQ(plan->parts().size(), 2U);
  const PartPlan& backward = on_cpu(plan->parts()[0]);
  const auto ended = [&](const Tensor& made) {
    const auto at = std::ranges::find(backward.instructions, made_from(backward.ir, made), &Instruction::node);
    return static_cast<int>(at - backward.instructions.begin()) + 1;
  };
  const std::vector<Wait>& waits = plan->waits()[1];
  ASSERT_EQ(waits.size(), 3U);
  EXPECT_EQ(waits[0].position, 0);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(waits[i].done, ended(shares[2 - i]));
    EXPECT_TRUE(i == 2 || waits[i].done < ended(g[1 - i]));
  }
  EXPECT_EQ(waits[2].done, static_cast<int>(backward.instructions.size()));
  run(*plan);
}

TEST_F(PlanTest, AViewBetweenDevicesIsWaitedThrough) {
  const Variable v = filled("v", {4}, 1);
  const Tensor here = exp(v), view = reshape(here, {2, 2});
  Tensor there;
  {
    const DeviceScope device("cpu:1");
    there = matmul(view, view);
  }
  const auto plan = compiled({.fetches = {there}});
  ASSERT_EQ(plan->waits()[1].size(), 1u);
  EXPECT_EQ(plan->waits()[1][0].part, 0);
  EXPECT_NEAR(run(*plan)[0].item(), 2 * 2.7182818 * 2.7182818, 1e-5);
}

TEST_F(PlanTest, ReadAndWrittenVariablesAreListed) {
  const Variable read = filled("read", {2}, 1), written = filled("written", {2}, 1), both = filled("both", {2}, 1);
  filled("neither", {2}, 1);
  const auto plan = compiled({.targets = {written.assign(exp(read)), both.assign_add(read.value())}});
  const auto sorted = [](std::vector<const Node*> nodes) {
    std::vector<std::string> names;
    for (const Node* n : nodes) names.push_back(n->name);
    std::ranges::sort(names);
    return names;
  };
  EXPECT_EQ(sorted(plan->variables()), (std::vector<std::string>{"both", "read"}));
  EXPECT_EQ(sorted(plan->assigned()), (std::vector<std::string>{"both", "written"}));
}

TEST_F(PlanTest, EmptyTensorsReachNoKernelAndEmptySumsAreZero) {
  const Tensor x = placeholder({"x", f32, {kAny, 3}});
  const Variable w = filled("w", {3, 2}, 1);
  const Tensor y = relu(matmul(x, w)), sum = reduce_sum(y, {.axes = {0}});
  const auto plan = compiled({.fetches = {y, sum}, .feeds = {{x, {0, 3}}}});
  const std::vector<Array> out = run(*plan, {Array(f32, {0, 3})});
  EXPECT_EQ(out[0].shape(), Shape({0, 2}));
  EXPECT_EQ(out[1].item(0), 0);
  EXPECT_EQ(out[1].item(1), 0);
  EXPECT_EQ(std::ranges::count(ops(*plan), "MatMul"), 0);
}

TEST_F(PlanTest, AFailureOnAnyDeviceReachesTheCallerAndThePlanRunsAgain) {
  for (int failing = 0; failing < 2; ++failing) {
    const Variable v = filled(("v" + std::to_string(failing)).c_str(), {4}, 1);
    Tensors ends;
    for (int d = 0; d < 2; ++d) {
      const DeviceScope device("cpu:" + std::to_string(d));
      Tensor x = v.value() + static_cast<float>(d);
      if (d == failing) x = add_tensor(fragile(), {x});
      ends.push_back(x);
    }
    Tensor sum;
    {
      const DeviceScope device("cpu:" + std::to_string(1 - failing));  // the other one waits for it
      sum = ends[0] * ends[1];
    }
    const auto plan = compiled({.fetches = {sum}});
    for (int round = 0; round < 5; ++round) {
      should_fail = true;
      EXPECT_NE(error_of([&] { run(*plan); }).find("told to fail"), std::string::npos);
      should_fail = false;
      EXPECT_EQ(run(*plan)[0].item(), 2);
    }
  }
}

TEST_F(PlanTest, AnOpWithoutAKernelIsNamed) {
  static const OpRegistration bare = define_op("TestBare")
                                         .input("x")
                                         .output("y")
                                         .shape([](const ShapeContext& c) { return c.input(0); })
                                         .not_differentiable()
                                         .doc("No kernel.");
  const Tensor y = add_tensor(bare, {filled("v", {2}, 1)}, {.name = "bare"});
  const std::string text = error_of([&] { compiled({.fetches = {y}}); });
  EXPECT_NE(text.find("[TestBare 'bare'] expected an op with a kernel for cpu:0, got TestBare without one"),
            std::string::npos)
      << text;
}

TEST_F(PlanTest, PlansShareOneArena) {
  const Variable v = filled("v", {64}, 1);
  const auto first = compiled({.fetches = {exp(v)}}), second = compiled({.fetches = {concat({v, v}, 0)}});
  for (int i = 0; i < 3; ++i) {
    EXPECT_FLOAT_EQ(static_cast<float>(run(*first)[0].item(63)), 2.7182817f);
    EXPECT_EQ(run(*second)[0].item(127), 1);
  }
}

}  // namespace
}  // namespace belfry
