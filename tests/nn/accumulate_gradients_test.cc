#include "belfry/nn/accumulate_gradients.h"

#include <cmath>

#include "tests/nn/nn_test_support.h"
#include "tests/support/files.h"

namespace belfry {
namespace {

using MakeOptimizer = std::function<std::unique_ptr<Optimizer>()>;

struct Rule {
  const char* name;
  MakeOptimizer make;
};
const std::vector<Rule> rules{
    {"sgd", [] { return sgd({.learning_rate = 0.1f, .weight_decay = 0.01}); }},
    {"momentum", [] { return momentum({.learning_rate = 0.1f, .nesterov = true}); }},
    {"adam", [] { return adam({.learning_rate = 0.01f}); }},
    {"clipped", [] { return apply_grad_processors(momentum({.learning_rate = 0.1f}), {global_norm_clip(0.05)}); }},
    {"averaged", [] { return ema_of_weights(adam(), {.decay = 0.9}); }},
    {"lookahead", [] { return lookahead(adam(), {.period = 2}); }},
    {"twice", [] { return accumulate_gradients(sgd({.learning_rate = 0.1f}), 2); }}};

Array batch_of(int index, int rows) {
  Array out(f32, {rows, 4});
  for (int i = 0; i < rows * 4; ++i)
    out.values<float>()[static_cast<std::size_t>(i)] = static_cast<float>(std::sin((index * rows * 4 + i) * 0.7));
  return out;
}

// A small model, trained by some optimizer; the values of all variables that both ways of training have.
struct Trained {
  explicit Trained(std::unique_ptr<Optimizer> optimizer) {
    const GraphScope scope(graph);
    x = placeholder({"x", f32, {kAny, 4}});
    graph.set_seed(3);
    const Tensor y =
        x | fully_connected("fc0", {.units = 5, .activation = tanh}) | fully_connected("fc1", {.units = 2});
    train = optimizer->minimize(reduce_mean(square(y - 0.5f)), "train");
    session = std::make_unique<Session>(graph);
    session->initialize();
  }
  void step(const Array& batch) { session->run(train, {{x, batch}}); }

  Graph graph;
  Tensor x;
  Operation train;
  std::unique_ptr<Session> session;
};

bool is_sum(const Variable& v) { return contains(v.name(), "AccumulateGradients"); }

void expect_same(const Trained& a, const Trained& b, double tolerance, bool sums) {
  int compared = 0;
  for (const Variable& v : a.graph.collections().variables(collection::kGlobalVariables)) {
    const auto others = b.graph.collections().variables(collection::kGlobalVariables);
    const auto at = std::ranges::find_if(others, [&](const Variable& o) { return o.name() == v.name(); });
    if (at == others.end() || (is_sum(v) && !sums)) continue;
    ++compared;
    const Array x = a.session->value(v), y = b.session->value(*at);
    for (std::int64_t i = 0; i < x.elements(); ++i) EXPECT_NEAR(x.item(i), y.item(i), tolerance) << v.name() << i;
  }
  EXPECT_GE(compared, 4);
}

TEST(AccumulateGradients, StepsOfSmallBatchesAreOneOfALargeBatchForEveryRule) {
  constexpr int kSteps = 3, kRows = 4;
  for (const Rule& rule : rules) {
    SCOPED_TRACE(rule.name);
    Trained small(accumulate_gradients(rule.make(), kSteps)), large(rule.make());
    for (int update = 0; update < 5; ++update) {
      for (int i = 0; i < kSteps; ++i) small.step(batch_of(update * kSteps + i, kRows));
      large.step(batch_of(update, kSteps * kRows));
    }
    expect_same(large, small, 1e-6, false);
  }
}

TEST(AccumulateGradients, BetweenUpdatesNothingOfTheWrappedOptimizerMoves) {
  for (const Rule& rule : rules) {
    SCOPED_TRACE(rule.name);
    Trained small(accumulate_gradients(rule.make(), 3));
    for (int i = 0; i < 3; ++i) small.step(batch_of(i, 2));
    std::map<std::string, Array> before;
    const auto saved = small.graph.collections().variables(collection::kGlobalVariables);
    for (const Variable& v : saved) before.emplace(v.name(), small.session->value(v));
    for (int i = 3; i < 5; ++i) {
      small.step(batch_of(i, 2));
      for (const Variable& v : saved) {
        if (is_sum(v)) continue;
        EXPECT_TRUE(equal(small.session->value(v), before.at(v.name()))) << v.name();
      }
    }
    small.step(batch_of(5, 2));
    EXPECT_FALSE(equal(small.session->value(small.graph.get_variable_by_name("fc0/W")), before.at("fc0/W")));
  }
}

TEST(AccumulateGradients, ARunResumedBetweenUpdatesGoesOnBitByBit) {
  const auto make = [] { return accumulate_gradients(adam({.learning_rate = 0.01f}), 3); };
  const testing_support::TempDir directory;
  Trained whole(make()), first(make()), second(make());
  for (int i = 0; i < 7; ++i) whole.step(batch_of(i, 2));
  for (int i = 0; i < 4; ++i) first.step(batch_of(i, 2));
  Saver saver(*first.session, {.directory = directory.path()});
  saver.save(4);
  saver.wait();
  ContinueRun(directory.path(), {.strict = true}).init(*second.session);
  for (int i = 4; i < 7; ++i) second.step(batch_of(i, 2));
  expect_same(whole, second, 0, true);
}

class AccumulateGradientsTest : public NnTest {};

TEST_F(AccumulateGradientsTest, TheSumIsAnOption) {
  const Variable w = get_variable("w", {.shape = {2}, .initializer = init::zeros()});
  const Operation train = accumulate_gradients(sgd({.learning_rate = 1.f}), 4, {.sum = true})->minimize(reduce_sum(w));
  EXPECT_EQ(train.name(), "AccumulateGradients");
  Session session(graph);
  session.initialize();
  for (int i = 1; i <= 9; ++i) {
    session.run(train);
    EXPECT_EQ(session.value(w).item(), -(i / 4) * 4);
  }
}

TEST_F(AccumulateGradientsTest, SlotsAreSavedUnderTheseNamesAndNotTrained) {
  const Variable w = get_variable("fc/W", {.shape = {2}});
  accumulate_gradients(adam(), 2)->minimize(reduce_sum(square(w)));
  EXPECT_EQ(in(collection::kGlobalVariables),
            (Names{"fc/W", "AccumulateGradients/count", "fc/W/AccumulateGradients/sum", "Adam/step", "fc/W/Adam/m",
                   "fc/W/Adam/v"}));
  EXPECT_EQ(in(collection::kTrainableVariables), Names{"fc/W"});
}

TEST_F(AccumulateGradientsTest, BatchNormsAveragesMoveInEveryStep) {
  const Tensor x = placeholder(f32, {kAny, 3});
  Operation train;
  {
    const TrainTowerContext tower("");
    const Tensor y = x | batch_norm("bn", {.momentum = 0.5f}) | fully_connected("fc", {.units = 1});
    train = accumulate_gradients(momentum({.learning_rate = 0.1f}), 3)->minimize(reduce_mean(square(y)));
  }
  Session session(graph);
  session.initialize();
  const Array batch = Array::of<float>({2, 3}, {1, 2, 3, 3, 4, 5});
  double expected = 0;
  for (int i = 0; i < 4; ++i) {
    session.run(train, {{x, batch}});
    expected += (2 - expected) * 0.5;
    EXPECT_NEAR(session.value(variable("bn/mean/EMA")).item(), expected, 1e-6) << i;
  }
}

// Filters lie in layouts of their own, with a second copy for the backward pass: both must stay as they are.
TEST_F(AccumulateGradientsTest, ConvolutionsAccumulateInTheirLayoutsAndAveragesFollow) {
  const Tensor x = images();
  const auto cost_of = [&](const char* name) {
    const VariableScope scope(name);
    const auto conv = conv2d({.filters = 32, .kernel = 3, .activation = tanh});
    return reduce_mean(square((x | conv("conv0") | conv("conv1") | conv("conv2")) - 0.5f));
  };
  const Tensor small = cost_of("small"), large = cost_of("large");
  const auto trained = [&](const std::string& prefix) {
    std::vector<Variable> out;
    for (const Variable& v : graph.collections().variables(collection::kTrainableVariables))
      if (v.name().starts_with(prefix)) out.push_back(v);
    return out;
  };
  const Operation in_pieces =
                      accumulate_gradients(ema_of_weights(momentum({.learning_rate = 0.05f}), {.decay = 0.5}), 2)
                          ->minimize(small, trained("small")),
                  at_once = momentum({.learning_rate = 0.05f})->minimize(large, trained("large"));
  Session session(graph);
  session.initialize();
  Array whole(f32, {4, 8, 8, 3});
  for (std::int64_t i = 0; i < whole.elements(); ++i)
    whole.values<float>()[static_cast<std::size_t>(i)] = static_cast<float>(std::sin(static_cast<double>(i)));
  std::vector<Array> halves{Array(f32, {2, 8, 8, 3}), Array(f32, {2, 8, 8, 3})};
  for (std::size_t i = 0; i < 768; ++i) halves[i / 384].values<float>()[i % 384] = whole.values<float>()[i];
  std::map<std::string, Array> average;
  for (const Variable& v : trained("small")) {
    average.emplace(v.name(), session.value(v));
    session.set_value(variable("large" + v.name().substr(5)), session.value(v));
  }
  for (int update = 0; update < 3; ++update) {
    for (const Array& half : halves) session.run(in_pieces, {{x, half}});
    session.run(at_once, {{x, whole}});
    for (const Variable& v : trained("small")) {
      const Array weights = session.value(v), other = session.value(variable("large" + v.name().substr(5))),
                  ema = session.value(variable(v.name() + "/EMA"));
      Array& expected = average.at(v.name());
      for (std::int64_t i = 0; i < weights.elements(); ++i) {
        ASSERT_NEAR(weights.item(i), other.item(i), 1e-6) << v.name() << " " << i;
        float& e = expected.values<float>()[static_cast<std::size_t>(i)];
        e += (static_cast<float>(weights.item(i)) - e) * 0.5f;
        ASSERT_NEAR(ema.item(i), e, 1e-6) << v.name() << " " << i;
      }
    }
  }
}

TEST_F(AccumulateGradientsTest, ATablesRowsAreAddedUpWithoutADenseGradient) {
  const Variable table = get_variable("table", {.shape = {5, 2}, .initializer = init::ones()});
  const Tensor ids = placeholder(i32, {kAny});
  const Operation train =
      accumulate_gradients(sgd({.learning_rate = 1.f}), 2)->minimize(reduce_sum(gather(table, ids)));
  Session session(graph);
  session.initialize();
  EXPECT_FALSE(contains(session.explain({train}, {{ids, Array::of<std::int32_t>({2}, {1, 1})}}), "ScatterRows"));
  session.run(train, {{ids, Array::of<std::int32_t>({2}, {1, 1})}});
  session.run(train, {{ids, Array::of<std::int32_t>({2}, {1, 3})}});
  const Array value = session.value(table);
  for (int row = 0; row < 5; ++row) EXPECT_EQ(value.item(row * 2), row == 1 ? -0.5 : row == 3 ? 0.5 : 1) << row;
}

TEST_F(AccumulateGradientsTest, TheUpdateStillMultipliesAndNoCopyIsMade) {
  const Variable w = get_variable("w", {.shape = {64, 64}});
  const Tensor x = placeholder(f32, {8, 64});
  const Operation train = accumulate_gradients(adam(), 2)->minimize(reduce_mean(square(matmul(x, w))));
  Session session(graph);
  session.initialize();
  const std::string plan = session.explain({train}, {{x, Array::zeros(f32, {8, 64})}});
  EXPECT_FALSE(contains(plan, "Snapshot")) << plan;
  EXPECT_TRUE(contains(plan, "if 'update_condition")) << plan;
}

TEST_F(AccumulateGradientsTest, MistakesAreSaid) {
  const Variable w = get_variable("w", {.shape = {2}}), other = get_variable("other", {.shape = {2}});
  EXPECT_EQ(error_of([&] {
              accumulate_gradients(adam(), 0);
            }).find("[accumulate_gradients] expected a number of steps of 1 or more, got 0 (at accumulate_"),
            0u);
  EXPECT_EQ(error_of([&] {
              accumulate_gradients(nullptr, 2);
            }).find("[accumulate_gradients] expected an optimizer, got none (at accumulate_"),
            0u);
  EXPECT_TRUE(contains(error_of([&] { accumulate_gradients(adam(), 2)->minimize(reduce_sum(w), {other}); }),
                       "[Adam] expected a cost that depends on the variables to train, got no gradient for 'other'"));
}

}  // namespace
}  // namespace belfry
