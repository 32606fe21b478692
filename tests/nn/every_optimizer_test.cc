// What every optimizer must do, whatever its rule.
#include "tests/nn/every_optimizer.h"

#include <cmath>

#include "tests/support/files.h"

namespace belfry {
namespace {

class EveryOptimizerTest : public testing::TestWithParam<NamedOptimizer> {
 protected:
  static Variable weights(const char* name, const Shape& shape, DType dtype = f32) {
    return get_variable(name, {.shape = shape, .dtype = dtype, .initializer = [](const Shape& s, DType d) {
                                 return constant(waves(s, d, 0.7));
                               }});
  }
  // sin(k), sin(2k), ...
  static Array waves(const Shape& shape, DType dtype, double k) {
    Array out(dtype, shape);
    for (std::int64_t i = 0; i < out.elements(); ++i) out.set_item(i, std::sin(k * static_cast<double>(i + 1)));
    return out;
  }
  static std::unique_ptr<Optimizer> make() { return GetParam().make(); }
  std::vector<Array> state_of(Session& session) {
    std::vector<Array> out;
    for (const Variable& v : graph.variables()) out.push_back(session.value(v));
    return out;
  }
  static void expect_near(const Array& a, const Array& b, double tolerance) {
    ASSERT_EQ(a.shape(), b.shape());
    for (std::int64_t i = 0; i < a.elements(); ++i)
      ASSERT_NEAR(a.item(i), b.item(i), tolerance * std::max(1.0, std::abs(b.item(i)))) << "element " << i;
  }

  Graph graph;
  GraphScope scope{graph};
};

TEST_P(EveryOptimizerTest, KeepsItsStateInVariablesThatAreSavedAndNotTrained) {
  const Variable w = weights("w", {2, 3});
  make()->minimize(reduce_sum(square(w)));
  Names expected{"w"};
  expected.insert(expected.end(), GetParam().state.begin(), GetParam().state.end());
  EXPECT_EQ(names(graph.collections().variables(collection::kGlobalVariables)), expected);
  EXPECT_EQ(names(graph.collections().variables(collection::kTrainableVariables)), Names{"w"});
}

TEST_P(EveryOptimizerTest, GoesOnFromACheckpointAsIfNothingHadHappened) {
  const testing_support::TempDir directory;
  const Variable w = weights("w", {5, 7});
  const Operation train = make()->minimize(reduce_sum(exp(w)));
  Session first(graph), second(graph);
  first.initialize();
  second.initialize();
  for (int i = 0; i < 3; ++i) first.run(train);
  {
    Saver saver(first, {.directory = directory.path()});
    saver.save(3);
    saver.wait();
  }
  ContinueRun(directory.path()).init(second);
  first.run(train);
  second.run(train);
  const std::vector<Array> a = state_of(first), b = state_of(second);
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(equal(a[i], b[i])) << graph.variables()[i].name();
}

TEST_P(EveryOptimizerTest, IsOneOpAVariableDenseAndSparse) {
  const Variable dense = weights("dense", {6, 4}), table = weights("table", {6, 4});
  const Tensor ids = placeholder(i32, {kAny});
  const Operation train = make()->minimize(reduce_sum(square(dense)) + reduce_sum(square(gather(table, ids))));
  Session session(graph);
  session.initialize();
  const std::string plan = session.explain({train}, {{ids, Array::of<std::int32_t>({3}, {1, 3, 1})}});
  const std::string op = GetParam().op;
  for (const std::string& one : {op + " ", op + "Rows "}) {
    const std::size_t at = plan.find(one);
    EXPECT_NE(at, std::string::npos) << one << "in\n" << plan;
    EXPECT_EQ(plan.find(one, at + 1), std::string::npos) << one << "in\n" << plan;
  }
  EXPECT_FALSE(contains(plan, "ScatterRows")) << plan;
}

TEST_P(EveryOptimizerTest, OfALargeTableOnlyTheRowsLookedUpChange) {
  constexpr std::int64_t rows = 10000, width = 9;
  const Variable table = weights("table", {rows, width});
  const Tensor ids = placeholder(i32, {kAny});
  const Operation train = make()->minimize(reduce_sum(square(gather(table, ids))));
  Session session(graph);
  session.initialize();
  const std::vector<Array> before = state_of(session);
  session.run(train, {{ids, Array::of<std::int32_t>({4}, {17, 9999, 17, 0})}});
  session.run(train, {{ids, Array::of<std::int32_t>({2}, {17, 4242})}});
  const std::vector<Array> after = state_of(session);
  for (std::size_t v = 0; v < before.size(); ++v) {
    if (before[v].elements() == 1) continue;  // a counter
    for (std::int64_t i = 0; i < rows * width; ++i) {
      const std::int64_t row = i / width;
      const bool looked_up = row == 0 || row == 17 || row == 4242 || row == 9999;
      ASSERT_EQ(after[v].item(i) != before[v].item(i), looked_up) << graph.variables()[v].name() << ", row " << row;
    }
  }
}

TEST_P(EveryOptimizerTest, WithAllRowsLookedUpSparseIsDense) {
  for (const DType dtype : {f32, f64}) {
    Graph own;
    const GraphScope inside(own);
    const Variable dense = weights("dense", {40, 21}, dtype), table = weights("table", {40, 21}, dtype);
    Array all(i64, {40});
    for (std::int64_t i = 0; i < 40; ++i) all.set_item(i, static_cast<double>(39 - i));
    const Tensor rows = gather(table, constant(all));
    const Operation by_rows = make()->minimize(reduce_sum(exp(rows)), {table}, "by_rows"),
                    whole = make()->minimize(reduce_sum(exp(dense)), {dense}, "whole");
    Session session(own);
    session.initialize();
    for (int i = 0; i < 4; ++i) {
      session.run(by_rows);
      session.run(whole);
    }
    expect_near(session.value(table), session.value(dense), dtype == f32 ? 1e-5 : 1e-12);
  }
}

TEST_P(EveryOptimizerTest, FloatsFollowDoublesAndAnyNumberOfThreadsGivesTheSameBits) {
  const auto trained = [](DType dtype, int threads) {
    Graph own;
    const GraphScope inside(own);
    const Variable w = weights("w", {300, 211}, dtype);
    const Tensor g = placeholder(dtype, w.shape());
    const Operation train = make()->apply_gradients({{g, w}});
    Session session(own, {.devices = {{threads}}});
    session.initialize();
    for (int i = 0; i < 3; ++i) session.run(train, {{g, waves(w.shape(), dtype, 0.3 + i)}});
    return session.value(w);
  };
  const Array one = trained(f32, 1), wide = trained(f64, 1);
  EXPECT_TRUE(equal(one, trained(f32, 2)));
  EXPECT_TRUE(equal(wide, trained(f64, 2)));
  double off = 0;
  for (std::int64_t i = 0; i < one.elements(); ++i) off += std::abs(one.item(i) - wide.item(i));
  EXPECT_LT(off / static_cast<double>(one.elements()), 1e-5);
}

// An L2 penalty and a factor of the gradient become part of the update; a gradient that is fed cannot. The factor's
// product is rounded as it would be apart, the sum with the penalty is not.
TEST_P(EveryOptimizerTest, APenaltyOrAFactorThatTheUpdateTakesAlongChangesNothing) {
  const Variable a = weights("first", {6, 5}), b = weights("second", {6, 5});
  const Tensor x = placeholder(f32, {6, 5}), factor = placeholder(f32, {}), fed = placeholder(f32, {6, 5});
  const auto gradient_of = [&](const Variable& v, bool penalty) { return penalty ? x + v * 0.2f : x * factor; };
  const auto optimizer = make();
  for (const bool penalty : {true, false}) {
    const std::string name = penalty ? "penalty" : "factor";
    const Tensor of_b = gradient_of(b, penalty);
    const Operation taken = optimizer->apply_gradients({{gradient_of(a, penalty), a}}, name),
                    given = optimizer->apply_gradients({{fed, b}}, name + "_fed");
    Session session(graph);
    session.initialize();
    for (int i = 0; i < 3; ++i) {
      const Feeds feeds{{x, waves({6, 5}, f32, 0.3 + i)}, {factor, 0.3f}};
      const Array value = session.run(of_b, feeds);
      session.run(taken, feeds);
      session.run(given, {{fed, value}});
    }
    expect_near(session.value(a), session.value(b), penalty ? 2e-5 : 0);
  }
}

// The weights of a convolution live in blocks, with padding, and in a second layout for its gradient; a twin that no
// convolution reads is plain.
TEST_P(EveryOptimizerTest, WeightsInBlocksFollowPlainOnesAndTheirSecondCopyFollowsThem) {
  const Tensor x = placeholder(f32, {2, 6, 6, 20}), fed = placeholder(f32, {3, 3, 20, 24});
  const Variable lower = weights("lower", {3, 3, 20, 20}), upper = weights("upper", {3, 3, 20, 24}),
                 twin = weights("twin", {3, 3, 20, 24});
  const Tensor y = conv2d(conv2d(x, lower, {.strides = 2}), upper, {.strides = 2});
  const Tensors g = gradients({reduce_mean(square(y)) * 1e-4f}, {lower.handle(), upper.handle()});
  const auto optimizer = make();
  const Operation train = optimizer->apply_gradients({{g[0], lower}, {g[1], upper}}, "train"),
                  train_twin = optimizer->apply_gradients({{fed, twin}}, "train_twin");
  Session session(graph);
  session.initialize();
  const Feeds feeds{{x, waves({2, 6, 6, 20}, f32, 0.9)}};
  for (int i = 0; i < 3; ++i) {
    const Array value = session.run(g[1], feeds);
    session.run(train, feeds);
    session.run(train_twin, {{fed, value}});
  }
  const std::string plan = session.explain({train}, feeds), line = plan.substr(0, plan.find("'train/update_upper'"));
  const std::string written = line.substr(line.rfind("->"));
  EXPECT_NE(written.find("f32[3, 3, 20, 24]:"), written.rfind("f32[3, 3, 20, 24]:")) << "two layouts in\n" << plan;
  expect_near(session.value(upper), session.value(twin), 1e-5);
  Session fresh(graph);  // where values that are set reach every copy
  fresh.initialize();
  for (const Variable& v : {lower, upper}) fresh.set_value(v, session.value(v));
  expect_near(session.run(g[0], feeds), fresh.run(g[0], feeds), 1e-4);
}

INSTANTIATE_TEST_SUITE_P(All, EveryOptimizerTest, testing::ValuesIn(every_optimizer()), optimizer_name);

}  // namespace
}  // namespace belfry
