#include <gtest/gtest.h>

#include <atomic>
#include <cmath>

#include "belfry/engine/cpu/compile/algorithm_table.h"
#include "belfry/graph/gradients.h"
#include "belfry/graph/op_def.h"
#include "belfry/ops/conv.h"
#include "belfry/ops/matmul.h"
#include "belfry/ops/pointwise.h"
#include "tests/engine/ir_testing.h"
#include "tests/support/files.h"

namespace belfry {
namespace {

using testing_support::TempDir;

// An op whose algorithms do much work, or none. Counts what is made.
std::atomic<int> probes_made = 0;
const OpRegistration probe_op = define_op("AlgorithmProbe")
                                    .input("x")
                                    .output("y")
                                    .shape([](const ShapeContext& c) { return c.input(0); })
                                    .not_differentiable()
                                    .doc("What tests of choose_algorithms time.");
const KernelRegistration probe_kernel =
    define_kernel("AlgorithmProbe")
        .algorithms([](const KernelContext& c) {
          return Algorithms{.problem = "probe " + to_string(c.input(0).shape), .names = {"much", "none"}};
        })
        .make([](const KernelContext& c) {
          ++probes_made;
          const int work = c.attributes->get_or<std::string>(kAlgorithm, "much") == "much" ? 300'000 : 0;
          return simple_kernel([work](const Buffers& b, const Step&) {
            float x = b.in<float>(0)[0];
            for (int i = 0; i < work; ++i) x = std::sqrt(x * x + 1.f);
            b.out<float>()[0] = x;
          });
        });

class ChooseAlgorithmsTest : public IrTest {
 protected:
  Ir chosen(const Request& request, AlgorithmTable& table, int threads = 1) {
    Ir ir = simplified(request);
    fuse(ir);
    order_variables(ir);
    choose_algorithms(ir, table, {{threads}});
    return ir;
  }
  static std::string attribute(const Ir& ir, std::string_view op, const char* name) {
    return ir.node(the(ir, op)).attributes.get_or<std::string>(name, "unset");
  }
  // The names that a table with no entries chooses from for the only node of `op`.
  static std::vector<std::string> names_for(const Ir& ir, std::string_view op, int threads = 1) {
    const IrNode& node = ir.node(the(ir, op));
    std::vector<TensorInfo> inputs, outputs;
    for (ValueId v : node.inputs) inputs.push_back(ir.info(v));
    for (ValueId v : node.outputs) outputs.push_back(ir.info(v));
    return find_kernel(op_kind(op))
        ->algorithms({.inputs = inputs, .outputs = outputs, .attributes = &node.attributes, .threads = threads})
        .names;
  }

  TempDir dir;
};

TEST_F(ChooseAlgorithmsTest, WhatIsMissingIsTimedOnceAndTheFasterOneTaken) {
  const Tensor x = placeholder({"x", f32, {2}});
  const Request request{.fetches = {add_tensor(probe_op, {x}, {.name = "probe"})}, .feeds = {{x, {2}}}};
  AlgorithmTable table(dir / "t.json");
  const Ir ir = chosen(request, table);
  EXPECT_EQ(attribute(ir, "AlgorithmProbe", kAlgorithm), "none");
  EXPECT_EQ(attribute(ir, "AlgorithmProbe", kAlgorithmSource), "timed");
  ASSERT_EQ(table.used().size(), 1u);
  EXPECT_TRUE(table.used().begin()->first.starts_with("probe [2] avx")) << table.used().begin()->first;
  EXPECT_TRUE(table.used().begin()->first.ends_with(" threads 1")) << table.used().begin()->first;

  const int made = probes_made;
  chosen(request, table);
  AlgorithmTable next(dir / "t.json");
  const Ir again = chosen(request, next);
  EXPECT_EQ(attribute(again, "AlgorithmProbe", kAlgorithm), "none");
  EXPECT_EQ(attribute(again, "AlgorithmProbe", kAlgorithmSource), "file");
  EXPECT_EQ(probes_made, made) << "timed again";
}

TEST_F(ChooseAlgorithmsTest, AChoiceOfTheTableIsTakenWithoutTiming) {
  const Tensor x = placeholder({"x", f32, {3}});
  const Request request{.fetches = {add_tensor(probe_op, {x}, {.name = "probe"})}, .feeds = {{x, {3}}}};
  AlgorithmTable table(dir / "t.json");
  chosen(request, table);
  const std::string problem = table.used().begin()->first;
  table.restore({{problem, "much"}});
  EXPECT_EQ(attribute(chosen(request, table), "AlgorithmProbe", kAlgorithm), "much");
  table.restore({{problem, "no such algorithm"}});
  const Ir ir = chosen(request, table);
  EXPECT_EQ(attribute(ir, "AlgorithmProbe", kAlgorithm), "none") << "timed anew";
  EXPECT_EQ(attribute(ir, "AlgorithmProbe", kAlgorithmSource), "timed");
}

TEST_F(ChooseAlgorithmsTest, ThreadsAreAnotherProblem) {
  const Tensor x = placeholder({"x", f32, {4}});
  const Request request{.fetches = {add_tensor(probe_op, {x}, {.name = "probe"})}, .feeds = {{x, {4}}}};
  AlgorithmTable table(dir / "t.json");
  chosen(request, table, 1);
  chosen(request, table, 2);
  EXPECT_EQ(table.used().size(), 2u);
}

// A choice that depended on the epilogue would change the bits when somebody fetches what was fused away.
TEST_F(ChooseAlgorithmsTest, WhatIsFusedIntoAnOpDoesNotChangeItsProblem) {
  const Tensor x = placeholder({"x", f32, {2, 8, 8, 16}}), m = placeholder({"m", f32, {8, 64}});
  const Tensor conv = conv2d(x, var("filter", {1, 1, 16, 16}), {}, "conv");
  const Tensor product = matmul(m, var("w", {64, 32}), "product");
  const Tensors tops{relu(conv + var("conv_bias", {16})), relu(product + var("bias", {32}))};
  const std::vector<std::pair<Tensor, Shape>> feeds{{x, {2, 8, 8, 16}}, {m, {8, 64}}};
  AlgorithmTable fused(dir / "fused.json"), apart(dir / "apart.json");
  const Ir ir = chosen({.fetches = tops, .feeds = feeds}, fused, 2);
  EXPECT_EQ(count_of(ir, "FusedConv") + count_of(ir, "FusedMatMul"), 2);
  const Ir alone = chosen({.fetches = {conv, product}, .feeds = feeds}, apart, 2);
  EXPECT_EQ(count_of(alone, "Conv2D") + count_of(alone, "MatMul"), 2);
  std::vector<std::string> problems, again;
  for (const auto& [problem, algorithm] : fused.used()) problems.push_back(problem);
  for (const auto& [problem, algorithm] : apart.used()) again.push_back(problem);
  EXPECT_EQ(problems, again);
  ASSERT_EQ(problems.size(), 2u);
  EXPECT_TRUE(
      problems[0].starts_with("conv2d forward x[2, 8, 8, 16] filter[1, 1, 16, 16] strides 1x1 dilations 1x1 "
                              "pads 0,0,0,0 groups 1 nhwc f32 avx"))
      << problems[0];
  EXPECT_TRUE(problems[1].starts_with("matmul 8x32x64 f32 avx")) << problems[1];
  EXPECT_EQ(names_for(ir, "FusedConv"), names_for(alone, "Conv2D"));
  EXPECT_EQ(names_for(ir, "FusedMatMul", 2), names_for(alone, "MatMul", 2));
}

TEST_F(ChooseAlgorithmsTest, TheRulesOwnChoiceComesFirst) {
  const Tensor small = placeholder({"small", f32, {4, 8}}), thin = placeholder({"thin", f32, {32, 784}});
  const auto names = [&](const Tensor& a, const Shape& shape, int threads) {
    const Variable w = new_variable("w", {.shape = shape});
    return names_for(shaped({.fetches = {matmul(a, w)}, .feeds = {{a, a.shape()}}}), "MatMul", threads);
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(names(small, {8, 4}, 2), (Names{"one_thread", "team", "depth"}));
  EXPECT_EQ(names(thin, {784, 128}, 2), (Names{"depth", "one_thread", "team"}));
  EXPECT_EQ(names(thin, {784, 1024}, 2), (Names{"team", "one_thread", "depth"}));
  EXPECT_EQ(names(small, {8, 4}, 1), Names()) << "nothing to choose";
}

TEST_F(ChooseAlgorithmsTest, OpsWithoutAChoiceAndOtherTypesAreLeftAlone) {
  const Tensor x = placeholder({"x", f64, {4, 4}});
  const Tensor y = relu(matmul(x, x));
  AlgorithmTable table(dir / "t.json");
  const Ir ir = chosen({.fetches = {y}, .feeds = {{x, {4, 4}}}}, table, 2);
  for (const IrNode& node : ir.nodes()) EXPECT_EQ(node.attributes.find(kAlgorithm), nullptr) << node.op.name();
  EXPECT_TRUE(table.used().empty());
  EXPECT_TRUE(dir.names().empty()) << "nothing to write";
}

}  // namespace
}  // namespace belfry
