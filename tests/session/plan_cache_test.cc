#include <gtest/gtest.h>

#include "belfry/engine/cpu/kernel/kernel.h"
#include "belfry/graph/gradients.h"
#include "belfry/graph/graph.h"
#include "belfry/graph/scope.h"
#include "belfry/ops/basic.h"
#include "belfry/ops/conv.h"
#include "belfry/ops/mask.h"
#include "belfry/ops/optimizer.h"
#include "belfry/ops/pointwise.h"
#include "belfry/session/hooked_session.h"

namespace belfry {
namespace {

// Shape rules run again whenever a plan is compiled: this one counts.
int compiled = 0;
const OpRegistration counted_op = define_op("TestCountedPlan")
                                      .input("x")
                                      .output("y")
                                      .shape([](const ShapeContext& c) {
                                        ++compiled;
                                        return c.input(0);
                                      })
                                      .kernel([](std::span<const Array> in, std::span<Array> out) {
                                        for (std::int64_t i = 0; i < in[0].elements(); ++i)
                                          out[0].set_item(i, in[0].item(i) + 1);
                                      })
                                      .not_differentiable()
                                      .doc("Counts compilations.");

class PlanCacheTest : public testing::Test {
 protected:
  PlanCacheTest() { compiled = 0; }
  // How many plans a run compiles.
  int compiles(Session& session, const Fetch& fetch, std::int64_t size) {
    const int before = compiled;
    EXPECT_EQ(session.run(fetch, {{x, Array::zeros(f32, {size})}}).elements(), size);
    return compiled - before;
  }

  Graph graph;
  GraphScope scope{graph};
  Tensor x = placeholder({"x", f32, {kAny}});
  Tensor y = add_tensor(counted_op, {x});
};

TEST_F(PlanCacheTest, APlanIsCompiledOnceForEachShapeAndEachSetOfFetches) {
  Session session(graph);
  const Tensor z = exp(y), other = tanh(y);
  EXPECT_EQ(session.cached_plans(), 0);
  EXPECT_EQ(compiles(session, z, 3), 1);
  EXPECT_EQ(compiles(session, z, 3), 0);
  EXPECT_EQ(compiles(session, z, 4), 1);
  EXPECT_EQ(compiles(session, other, 3), 1);
  EXPECT_EQ(compiles(session, z, 4), 0);
  EXPECT_EQ(session.cached_plans(), 3);
}

TEST_F(PlanCacheTest, TheLeastRecentlyUsedPlanGoesFirst) {
  Session session(graph, {.plan_cache = 3});
  for (const std::int64_t size : {1, 2, 3}) EXPECT_EQ(compiles(session, y, size), 1);
  EXPECT_EQ(compiles(session, y, 1), 0);  // 2 is now the oldest
  EXPECT_EQ(compiles(session, y, 4), 1);  // and goes
  EXPECT_EQ(session.cached_plans(), 3);
  for (const std::int64_t size : {3, 1, 4}) EXPECT_EQ(compiles(session, y, size), 0) << size;
  EXPECT_EQ(compiles(session, y, 2), 1);  // takes the place of 3
  EXPECT_EQ(compiles(session, y, 3), 1);
  EXPECT_EQ(session.cached_plans(), 3);
}

TEST_F(PlanCacheTest, ManyShapesStayWithinTheBound) {
  Session session(graph, {.plan_cache = 4});
  for (std::int64_t size = 1; size <= 50; ++size) compiles(session, y, size);
  EXPECT_EQ(session.cached_plans(), 4);
}

// A kernel that is counted while a plan has it.
int kernels = 0;
struct CountedKernel final : Kernel {
  CountedKernel() { ++kernels; }
  ~CountedKernel() override { --kernels; }
  void bind(const Buffers&) override {}
  void run(const Step&) override {}
};
const OpRegistration kept_op = define_op("TestKeptPlan")
                                   .input("x")
                                   .output("y")
                                   .shape([](const ShapeContext& c) { return c.input(0); })
                                   .not_differentiable()
                                   .doc("Its kernels are counted.");
const KernelRegistration kept_kernel =
    define_kernel("TestKeptPlan").make([](const KernelContext&) { return std::make_unique<CountedKernel>(); });

// However many sizes depend on data, in however many shapes: plans after a cut stay within the bound too.
TEST_F(PlanCacheTest, ManySizesThatFollowFromDataStayWithinTheBound) {
  kernels = 0;
  Session session(graph, {.plan_cache = 4});
  const Tensor kept = add_tensor(kept_op, {boolean_mask(x, x > 0.f)});
  for (int round = 0; round < 2; ++round)
    for (std::int64_t size = 1; size <= 8; ++size)
      for (std::int64_t count = 0; count <= size; ++count) {
        Array in = Array::zeros(f32, {size});
        for (std::int64_t i = 0; i < count; ++i) in.set_item(i, 1);
        ASSERT_EQ(session.run(kept, {{x, in}}).elements(), count);
        ASSERT_LE(kernels, 8) << "4 plans, and 4 versions of their part";
      }
  EXPECT_EQ(session.cached_plans(), 4);
}

TEST_F(PlanCacheTest, ACallableKeepsItsPlanThoughTheCacheDropsIt) {
  Session session(graph, {.plan_cache = 1});
  const auto call = session.make_callable({y}, {x});
  const Array five = Array::zeros(f32, {5});
  call(std::span(&five, 1));
  for (std::int64_t size = 1; size <= 4; ++size) compiles(session, y, size);
  const int before = compiled;
  EXPECT_EQ(call(std::span(&five, 1))[0].item(4), 1);
  EXPECT_EQ(compiled, before);
  const Array six = Array::zeros(f32, {6});
  EXPECT_EQ(call(std::span(&six, 1))[0].elements(), 6);  // another shape: another plan
  EXPECT_EQ(compiled, before + 1);
}

TEST_F(PlanCacheTest, ExplainSharesTheCache) {
  Session session(graph);
  session.explain({y}, {{x, Array::zeros(f32, {3})}});
  EXPECT_EQ(compiles(session, y, 3), 0);
}

TEST_F(PlanCacheTest, APlanFromBeforeAVariableMovedIsCompiledAgainAndRight) {
  const Variable w = get_variable("w", {.shape = {3, 3, 16, 16}});
  const Tensor total = add_tensor(counted_op, {exp(w)}), image = placeholder({"image", f32, {1, 8, 8, 16}});
  Session session(graph);
  session.initialize();
  const Array before = session.run(total);
  session.run(conv2d(image, w, {.strides = 2}), {{image, Array::zeros(f32, {1, 8, 8, 16})}});  // w goes into blocks
  EXPECT_TRUE(equal(session.run(total), before));
}

TEST_F(PlanCacheTest, AHookedRunKeepsItsPlanThoughTheCacheDropsIt) {
  Session session(graph, {.plan_cache = 1});
  HookedSession hooked(session);
  const auto step = [&](std::int64_t size) { return hooked.run(y, {{x, Array::zeros(f32, {size})}}).elements(); };
  EXPECT_EQ(step(5), 5);
  for (std::int64_t size = 1; size <= 4; ++size) compiles(session, y, size);
  const int before = compiled;
  EXPECT_EQ(step(5), 5);
  EXPECT_EQ(compiled, before);
  EXPECT_EQ(step(6), 6);
  EXPECT_EQ(compiled, before + 1);
}

// The runs of a trainer with several kinds of steps.
TEST_F(PlanCacheTest, HookedRunsThatComeInTurnsKeepTheirPlans) {
  const Tensor z = exp(y);
  Session session(graph);
  HookedSession hooked(session);
  for (int step = 0; step < 6; ++step) {
    const Tensor& wanted = step % 2 == 0 ? y : z;
    EXPECT_EQ(hooked.run(wanted, {{x, Array::zeros(f32, {3 + step % 3})}}).elements(), 3 + step % 3);
  }
  EXPECT_EQ(compiled, 6);
  for (int step = 0; step < 6; ++step) hooked.run(step % 2 == 0 ? y : z, {{x, Array::zeros(f32, {3 + step % 3})}});
  EXPECT_EQ(compiled, 6);
}

TEST_F(PlanCacheTest, ManyKindsOfHookedRunsStayWithinTheBound) {
  kernels = 0;
  std::vector<Tensor> all;
  for (int i = 0; i < 12; ++i) all.push_back(add_tensor(kept_op, {x}));
  Session session(graph, {.plan_cache = 3});
  HookedSession hooked(session);
  for (const Tensor& wanted : all) {
    hooked.run(wanted, {{x, Array::zeros(f32, {2})}});
    ASSERT_LE(kernels, 3) << "those of the last runs are those of the cache";
  }
  EXPECT_TRUE(hooked.has_run());
}

}  // namespace
}  // namespace belfry
