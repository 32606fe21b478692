#include "belfry/nn/gradient_processor.h"

#include <cmath>
#include <limits>

#include "tests/nn/nn_test_support.h"

namespace belfry {
namespace {

// Two weights with known gradients, and a table of which two rows are looked up.
class GradientProcessorTest : public NnTest {
 protected:
  Variable a = get_variable("conv0/W", {.shape = {2}, .initializer = init::zeros()});
  Variable b = get_variable("fc/W", {.shape = {2}, .initializer = init::zeros()});
  Variable table = get_variable("words/W", {.shape = {5, 2}, .initializer = init::zeros()});
  Tensor ids = placeholder(i32, {kAny}), ga = placeholder(f32, {2});
  // d cost / da = ga, db = (-1, 2), d table = 1 and 2 in rows 1 and 3
  Tensor cost() {
    return reduce_sum(a * ga) + reduce_sum(b * constant(Array::of<float>({2}, {-1, 2}))) +
           reduce_sum(gather(table, ids));
  }
  Feeds feeds(float first = 3, float second = -4) {
    return {{ids, Array::of<std::int32_t>({3}, {3, 1, 3})}, {ga, Array::of<float>({2}, {first, second})}};
  }
  // With a rate of 1 a variable at 0 becomes minus its gradient.
  Operation train(std::vector<GradientProcessor> processors) {
    return apply_grad_processors(sgd({.learning_rate = 1.f}), std::move(processors))->minimize(cost());
  }
  void run_once(const Operation& op) {
    session = std::make_unique<Session>(graph);
    session->initialize();
    plan = session->explain({op}, feeds());
    session->run(op, feeds());
  }
  double gradient(const Variable& v, int index) { return -session->value(v).item(index); }
  void expect_rows(double row1, double row3) {
    for (int row = 0; row < 5; ++row)
      EXPECT_NEAR(gradient(table, row * 2 + 1), row == 1 ? row1 : row == 3 ? row3 : 0, 1e-6) << row;
    EXPECT_FALSE(contains(plan, "ScatterRows")) << plan;
    EXPECT_TRUE(contains(plan, "ApplySgdRows")) << plan;
  }

  std::unique_ptr<Session> session;
  std::string plan;
};

TEST_F(GradientProcessorTest, GlobalNormClipKeepsTheDirection) {
  run_once(train({global_norm_clip(1)}));
  const double norm = std::sqrt(9 + 16 + 1 + 4 + 2 * 1 + 2 * 4.);
  EXPECT_NEAR(gradient(a, 0), 3 / norm, 1e-6);
  EXPECT_NEAR(gradient(b, 1), 2 / norm, 1e-6);
  expect_rows(1 / norm, 2 / norm);
}

TEST_F(GradientProcessorTest, ANormBelowTheBoundIsLeftAlone) {
  run_once(train({global_norm_clip(100)}));
  EXPECT_EQ(gradient(a, 1), -4);
  expect_rows(1, 2);
}

TEST_F(GradientProcessorTest, ClipByValueBoundsEachElement) {
  run_once(train({clip_gradient_by_value(-0.5, 1.5)}));
  EXPECT_EQ(gradient(a, 0), 1.5);
  EXPECT_EQ(gradient(a, 1), -0.5);
  EXPECT_EQ(gradient(b, 0), -0.5);
  expect_rows(1, 1.5);
}

TEST_F(GradientProcessorTest, ClipByOneValueIsSymmetric) {
  run_once(train({clip_gradient_by_value(1.25)}));
  EXPECT_EQ(gradient(a, 0), 1.25);
  EXPECT_EQ(gradient(a, 1), -1.25);
  expect_rows(1, 1.25);
}

TEST_F(GradientProcessorTest, ScalesGoByTheFirstExpressionThatMatchesTheWholeName) {
  run_once(train({scale_gradient({{"conv0/.*", 0.5}, {".*/W", 10}})}));
  EXPECT_EQ(gradient(a, 0), 1.5);
  EXPECT_EQ(gradient(b, 1), 20);
  expect_rows(10, 20);
}

TEST_F(GradientProcessorTest, AScaleOfZeroLeavesTheVariableOut) {
  const Operation op =
      apply_grad_processors(sgd({.learning_rate = 1.f, .weight_decay = 0.5}), {scale_gradient({{"conv0/W", 0}})})
          ->minimize(cost());
  session = std::make_unique<Session>(graph);
  session->initialize();
  session->set_value(a, Array::full(f32, {2}, 7));
  session->run(op, feeds());
  EXPECT_EQ(session->value(a).item(), 7);
  EXPECT_EQ(session->value(b).item(1), -2);
}

TEST_F(GradientProcessorTest, MapGetsEachMatchingGradientWithItsVariable) {
  Names seen;
  run_once(train({map_gradient("(conv0|fc)/W", [&](const Tensor& g, const Variable& v) {
    seen.push_back(v.name());
    return v.name() == "fc/W" ? Tensor() : g * g;
  })}));
  EXPECT_EQ(seen, (Names{"conv0/W", "fc/W"}));
  EXPECT_EQ(gradient(a, 1), 16);
  EXPECT_EQ(gradient(b, 1), 0);  // skipped
  expect_rows(1, 2);
}

TEST_F(GradientProcessorTest, MapTakesAFunctionOfTheGradientAlone) {
  run_once(train({map_gradient("(conv0|fc)/W", [](const Tensor& g) { return g * g; })}));
  EXPECT_EQ(gradient(a, 1), 16);
  EXPECT_EQ(gradient(b, 1), 4);
  expect_rows(1, 2);
}

TEST_F(GradientProcessorTest, TheyApplyInTheOrderOfTheList) {
  run_once(train({clip_gradient_by_value(1), scale_gradient({{"conv0/W", 10}})}));
  EXPECT_EQ(gradient(a, 0), 10);
  run_once(train({scale_gradient({{"conv0/W", 10}}), clip_gradient_by_value(1)}));
  EXPECT_EQ(gradient(a, 0), 1);
}

TEST_F(GradientProcessorTest, AnyFunctionIsAProcessor) {
  run_once(train({[](const GradientsAndVariables& all) {
    GradientsAndVariables out = all;
    for (auto& item : out) item.gradient = item.gradient * 2.f;
    return out;
  }}));
  EXPECT_EQ(gradient(a, 0), 6);
}

TEST_F(GradientProcessorTest, CheckNamesTheVariableOfAGradientThatIsNoNumberAndTheSessionGoesOn) {
  run_once(train({check_gradient()}));
  expect_rows(1, 2);
  const Operation op = graph.get_operation_by_name("SGD");
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    const Array before = session->value(a);
    const std::string text = error_of([&] { session->run(op, feeds(1, bad)); });
    EXPECT_TRUE(contains(text, "the gradient of 'conv0/W': expected finite values, got ")) << text;
    EXPECT_TRUE(contains(text, "at [1] of [2]")) << text;
    EXPECT_TRUE(contains(text, "gradient_processor_test.cc:")) << text;
    EXPECT_TRUE(equal(session->value(a), before));
  }
  EXPECT_THROW(session->run(op, feeds(1, INFINITY)), NumericError);
  session->run(op, feeds());
}

TEST_F(GradientProcessorTest, SummariesAreNamedAfterTheVariableAndReadNoDenseGradient) {
  const Operation op = train({summary_gradient(), global_norm_clip(0.1)});
  Names summaries;
  for (const Tensor& t : graph.collections().tensors(collection::kMovingSummaries)) summaries.push_back(t.name());
  EXPECT_EQ(summaries, (Names{"conv0/W/gradient_norm", "conv0/W/gradient_rms", "fc/W/gradient_norm",
                              "fc/W/gradient_rms", "words/W/gradient_norm", "words/W/gradient_rms"}));
  session = std::make_unique<Session>(graph);
  session->initialize();
  std::vector<Fetch> fetches{op};
  for (const std::string& name : summaries) fetches.emplace_back(graph.get_tensor_by_name(name));
  EXPECT_FALSE(contains(session->explain(fetches, feeds()), "ScatterRows"));
  std::vector<double> values;
  for (const std::string& name : summaries)
    values.push_back(session->run(graph.get_tensor_by_name(name), feeds()).item());
  EXPECT_NEAR(values[0], 5, 1e-6);
  EXPECT_NEAR(values[1], 5 / std::sqrt(2.), 1e-6);
  EXPECT_NEAR(values[4], std::sqrt(10.), 1e-6);
  EXPECT_NEAR(values[5], 1, 1e-6);  // over all ten elements of the table
}

TEST_F(GradientProcessorTest, SummariesOfSomeVariablesOnly) {
  train({summary_gradient("fc/.*")});
  EXPECT_EQ(graph.collections().tensors(collection::kMovingSummaries).size(), 2u);
}

TEST_F(GradientProcessorTest, ExpressionsSeeNamesWithoutTheTowersPrefix) {
  const TrainTowerContext tower("tower1", {.index = 1, .total = 2, .variable_scope = "copy1"});
  const Variable w = get_variable("w", {.shape = {2}, .initializer = init::zeros()});
  const Operation op =
      apply_grad_processors(sgd({.learning_rate = 1.f}), {scale_gradient({{"w", 3}})})->minimize(reduce_sum(w));
  Session run(graph);
  run.initialize();
  run.run(op);
  EXPECT_EQ(run.value(w).item(), -3);
}

TEST_F(GradientProcessorTest, VariablesWithoutGradientPassThrough) {
  get_variable("unused", {.shape = {2}});
  run_once(train({check_gradient(), clip_gradient_by_value(100), scale_gradient({{".*", 2}}), global_norm_clip(1000),
                  summary_gradient(), gradient_noise({.stddev = 1e-9})}));
  EXPECT_NEAR(gradient(a, 0), 6, 1e-5);
}

// 20,000 gradients of 0: what is applied is the noise.
class GradientNoiseTest : public NnTest {
 protected:
  static constexpr int kCount = 20000;
  Variable w = get_variable("w", {.shape = {kCount}, .initializer = init::zeros()});
  Operation train(const GradientNoiseOptions& options) {
    return apply_grad_processors(sgd({.learning_rate = 1.f}), {gradient_noise(options)})->minimize(reduce_sum(w * 0.f));
  }
  static double deviation(const Array& x, const Array& before) {
    double sum = 0;
    for (int i = 0; i < kCount; ++i) sum += std::pow(x.item(i) - before.item(i), 2);
    return std::sqrt(sum / kCount);
  }
};

TEST_F(GradientNoiseTest, HasTheDeviationAskedForAndIsNewEachStep) {
  const Operation op = train({.stddev = 0.5});
  EXPECT_EQ(in(collection::kGlobalVariables), Names{"w"});
  Session session(graph);
  session.initialize();
  Array before = session.value(w);
  for (int i = 0; i < 3; ++i) {
    session.run(op);
    const Array now = session.value(w);
    EXPECT_NEAR(deviation(now, before), 0.5, 0.01);
    before = now;
  }
  EXPECT_NEAR(deviation(before, Array::zeros(f32, {kCount})), 0.5 * std::sqrt(3.), 0.02);  // independent
}

TEST_F(GradientNoiseTest, AnnealsAsInThePaper) {
  const Operation op = train({.stddev = 1, .decay = 0.55});
  EXPECT_EQ(in(collection::kGlobalVariables), (Names{"w", "GradientNoise/step"}));
  Session session(graph);
  session.initialize();
  Array before = session.value(w);
  for (int t = 0; t < 6; ++t) {
    session.run(op);
    const Array now = session.value(w);
    const double expected = std::sqrt(1 / std::pow(1 + t, 0.55));
    EXPECT_NEAR(deviation(now, before), expected, 0.02 * expected) << t;
    before = now;
  }
}

TEST_F(GradientNoiseTest, IsTheSameInTheSameProgram) {
  const Operation op = train({.stddev = 1, .decay = 0.55});
  const auto run = [&] {
    Session session(graph);
    session.initialize();
    for (int i = 0; i < 3; ++i) session.run(op);
    return session.value(w);
  };
  EXPECT_TRUE(equal(run(), run()));
}

TEST_F(GradientProcessorTest, MistakesAreSaidWhereTheyAreMade) {
  const auto expect = [&](const std::string& text, const std::string& complaint) {
    EXPECT_EQ(text.find(complaint), 0u) << text;
    EXPECT_TRUE(contains(text, "(at gradient_processor_test.cc:")) << text;
  };
  expect(error_of([&] { global_norm_clip(0); }), "[global_norm_clip] expected a norm above 0, got 0 ");
  expect(error_of([&] { clip_gradient_by_value(1, 2); }),
         "[clip_gradient_by_value] expected bounds with 0 between them, got 1 and 2 ");
  expect(error_of([&] { clip_gradient_by_value(-3.); }),
         "[clip_gradient_by_value] expected bounds with 0 between them, got 3 and -3 ");
  expect(error_of([&] { gradient_noise({.decay = 0.55}); }), "[gradient_noise] expected stddev above 0, got 0 ");
  expect(error_of([&] { gradient_noise({.stddev = 1, .decay = -1}); }),
         "[gradient_noise] expected decay of 0 or more, got -1 ");
  expect(error_of([&] { map_gradient(".*", {}); }), "[map_gradient] expected a function, got an empty one ");
  expect(error_of([&] { scale_gradient({}); }), "[scale_gradient] expected expressions and their factors, got none ");
  expect(error_of([&] { scale_gradient({{".*", -1}}); }),
         "[scale_gradient] expected factors of 0 or more, got -1 for \".*\" ");
  expect(error_of([&] { apply_grad_processors(adam(), {{}}); }),
         "[apply_grad_processors] expected processors, got an empty one ");
  expect(error_of([&] { apply_grad_processors(nullptr, {}); }),
         "[apply_grad_processors] expected an optimizer, got none ");
  EXPECT_TRUE(contains(error_of([&] { scale_gradient({{"(", 1}}); }),
                       "[scale_gradient] expected an ECMAScript regular expression, got \"(\" ("));
  for (const GradientProcessor& processor :
       {scale_gradient({{"conv", 2}}), map_gradient("conv", [](const Tensor& g, const Variable&) { return g; }),
        summary_gradient("conv")}) {
    const std::string text = error_of([&] { train({processor}); });
    EXPECT_TRUE(contains(text,
                         "expected an expression that matches a variable to train, got \"conv\", which matches none of "
                         "'conv0/W', 'fc/W', 'words/W' (at gradient_processor_test.cc:"))
        << text;
  }
}

// A node of a graph that is gone may have had the address of one that is there: nothing is remembered by that.
TEST(ReusedProcessor, GivesTheSameInOneGraphAfterAnother) {
  const GradientProcessor noise = gradient_noise({.stddev = 1, .decay = 0.5});
  for (int round = 0; round < 100; ++round) {
    Graph graph;
    const GraphScope scope(graph);
    const Variable v = get_variable("v", {.shape = {3}, .initializer = init::zeros()});
    const Operation train = apply_grad_processors(sgd({.learning_rate = 1.f}), {noise})->minimize(reduce_sum(v));
    if (round > 2 && round < 98) continue;  // the graphs alone are cheap
    Session session(graph);
    session.initialize();
    session.run(train, {}, {.random_step = 1});
    static const Array first = session.value(v);
    EXPECT_TRUE(equal(session.value(v), first)) << round;
  }
}

}  // namespace
}  // namespace belfry
