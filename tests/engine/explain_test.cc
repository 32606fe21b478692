#include <gtest/gtest.h>

#include "belfry/graph/gradients.h"
#include "belfry/graph/graph.h"
#include "belfry/graph/scope.h"
#include "belfry/ops/basic.h"
#include "belfry/ops/conv.h"
#include "belfry/ops/matmul.h"
#include "belfry/ops/pointwise.h"
#include "belfry/ops/reduce.h"
#include "belfry/session/session.h"

namespace belfry {
namespace {

class ExplainTest : public testing::Test {
 protected:
  // The line that names this operation.
  static std::string line_of(const std::string& plan, const std::string& name) {
    const std::size_t at = plan.find("'" + name + "'");
    EXPECT_NE(at, std::string::npos) << name << " is not in\n" << plan;
    const std::size_t begin = plan.rfind('\n', at) + 1;
    return plan.substr(begin, plan.find('\n', at) - begin);
  }
  static std::string totals_of(const std::string& plan) { return plan.substr(plan.rfind('\n', plan.size() - 2) + 1); }

  Graph graph;
  GraphScope scope{graph};
};

TEST_F(ExplainTest, AnInstructionShowsItsOpShapesAndTheOpsInside) {
  const Tensor x = placeholder({"x", f32, {kAny, 16}});
  const Variable w = get_variable("w", {.shape = {16, 32}}), b = get_variable("b", {.shape = {32}});
  const Tensor y = relu(add(matmul(x, w, "product"), b, "sum"), "top");
  Session session(graph);
  const std::string plan = session.explain({y}, {{x, Array::zeros(f32, {4, 16})}});
  const std::string line = line_of(plan, "product");
  EXPECT_NE(line.find("FusedMatMul"), std::string::npos) << line;
  EXPECT_NE(line.find("f32[4, 16] f32[16, 32] f32[32] -> f32[4, 32]"), std::string::npos) << line;
  EXPECT_NE(line.find("fuses: product sum top"), std::string::npos) << line;
  EXPECT_NE(line.find("cpu:0"), std::string::npos) << line;
  EXPECT_NE(totals_of(plan).find("3 instructions, 1 fused groups, 0 reorders"), std::string::npos) << plan;
}

TEST_F(ExplainTest, LayoutsAndReordersAreShown) {
  const Tensor x = placeholder({"x", f32, {2, 8, 8, 32}});
  const Variable w = get_variable("w", {.shape = {3, 3, 32, 32}});
  const Tensor y = conv2d(x, w, {}, "conv");
  Session session(graph);
  const std::string plan = session.explain({y}, {{x, Array::zeros(f32, {2, 8, 8, 32})}});
  EXPECT_NE(line_of(plan, "conv").find("Reorder"), std::string::npos) << plan;  // x goes into blocks first
  EXPECT_NE(plan.find("f32[2, 8, 8, 32]:aDbc"), std::string::npos) << plan;
  EXPECT_NE(totals_of(plan).find("2 reorders"), std::string::npos) << plan;
}

TEST_F(ExplainTest, FlopsCountMultiplyAndAdd) {
  const Variable a = get_variable("a", {.shape = {100, 200}}), b = get_variable("b", {.shape = {200, 500}});
  Session session(graph);
  EXPECT_NE(session.explain({matmul(a, b)}).find("0.020 GFLOP"), std::string::npos);
  const Variable x = get_variable("x", {.shape = {10, 20, 20, 16}}), w = get_variable("w", {.shape = {3, 3, 16, 32}});
  const Tensor y = conv2d(x, w, {}, "conv");
  EXPECT_NE(session.explain({y}).find("0.037 GFLOP"), std::string::npos)
      << session.explain({y});  // 2 * 10*20*20*32 * 3*3*16
  // Both gradients cost as much as the forward pass; pointwise ops add one an element.
  const Tensors g = gradients({y}, {x.handle(), w.handle()});
  EXPECT_NE(session.explain({g[0]}).find("0.037 GFLOP"), std::string::npos) << session.explain({g[0]});
  EXPECT_NE(session.explain({g[1]}).find("0.037 GFLOP"), std::string::npos) << session.explain({g[1]});
}

TEST_F(ExplainTest, BytesAndTheArenaAreSummed) {
  const Tensor x = placeholder({"x", f32, {250000}});
  Session session(graph);
  const std::string plan = session.explain({exp(x)}, {{x, Array::zeros(f32, {250000})}});
  EXPECT_NE(totals_of(plan).find("arena 1.00 MB"), std::string::npos) << plan;             // in place
  EXPECT_NE(totals_of(plan).find("4.00 MB read and written"), std::string::npos) << plan;  // fed, exp twice, fetched
}

TEST_F(ExplainTest, DevicesAreNamed) {
  const Variable w = get_variable("w", {.shape = {4, 4}});
  Tensor y;
  {
    const DeviceScope device("cpu:1");
    y = matmul(w, w, "there");
  }
  Session session(graph, {.devices = {{1}, {1}}});
  EXPECT_NE(line_of(session.explain({y}), "there").find("cpu:1"), std::string::npos);
}

}  // namespace
}  // namespace belfry
