// The optimizers' rules: PyTorch's against its figures, the others against a naive loop in f64.
#include <cmath>
#include <functional>

#include "tests/nn/nn_test_support.h"

namespace belfry {
namespace {

using Values = std::vector<double>;
constexpr int kSteps = 4;

using Rule = std::function<void(Values& w, const Values& g, int step)>;

const Values kStart{1.5, -0.5, 0.25, 2.0};
Values gradient_at(int step) { return {0.3 * step - 0.7, 0.1 * step, -0.2 * step + 0.5, 0.05 * step * step}; }

double norm(const Values& x) {
  double sum = 0;
  for (double v : x) sum += v * v;
  return std::sqrt(sum);
}

// kSteps updates by this rule.
Values by_hand(const Rule& rule) {
  Values w = kStart;
  for (int i = 1; i <= kSteps; ++i) rule(w, gradient_at(i), i);
  return w;
}

class OptimizerRulesTest : public NnTest {
 protected:
  static Array array_of(const Values& values, DType dtype) {
    Array out(dtype, {static_cast<std::int64_t>(values.size())});
    for (std::size_t i = 0; i < values.size(); ++i) out.set_item(static_cast<std::int64_t>(i), values[i]);
    return out;
  }

  // kSteps updates of a variable of this name, by the gradients above.
  static void expect_trained(const std::function<std::unique_ptr<Optimizer>()>& make, const Values& expected,
                             const char* name = "w") {
    for (const DType dtype : {f32, f64}) {
      Graph own;
      const GraphScope inside(own);
      const Variable w = get_variable(name, {.shape = {4}, .dtype = dtype, .initializer = [](const Shape&, DType d) {
                                               return constant(array_of(kStart, d));
                                             }});
      const Tensor g = placeholder(dtype, {4});
      const Operation train = make()->apply_gradients({{g, w}});
      Session session(own);
      session.initialize();
      for (int i = 1; i <= kSteps; ++i) session.run(train, {{g, array_of(gradient_at(i), dtype)}});
      for (std::size_t i = 0; i < expected.size(); ++i)
        EXPECT_NEAR(session.value(w).item(static_cast<std::int64_t>(i)), expected[i], dtype == f64 ? 1e-10 : 3e-6)
            << name_of(dtype) << " element " << i;
    }
  }
};

// The figures are PyTorch 1.13's, of
//   w = torch.nn.Parameter(torch.tensor([1.5, -0.5, 0.25, 2.0], dtype=torch.float64)); o = torch.optim.X([w], ...)
//   for i in range(1, 5): w.grad = torch.tensor([0.3*i-0.7, 0.1*i, -0.2*i+0.5, 0.05*i*i], dtype=w.dtype); o.step()
// with the options that stand here (betas, eps and lr by PyTorch's names).
TEST_F(OptimizerRulesTest, AdamWIsPyTorchs) {
  expect_trained(
      [] { return adamw({.learning_rate = 0.125f, .beta1 = 0.8, .beta2 = 0.9, .epsilon = 1e-3, .weight_decay = 0.2}); },
      {1.54671378116, -0.919072258064, -0.00749655618741, 1.36973570151});
}

TEST_F(OptimizerRulesTest, RmsPropIsPyTorchsInAllItsForms) {
  const auto with = [](double momentum, bool centered) {
    return [=] {
      return rmsprop({.learning_rate = 0.125f,
                      .alpha = 0.8,
                      .epsilon = 1e-3,
                      .momentum = momentum,
                      .centered = centered,
                      .weight_decay = 0.1});
    };
  };
  expect_trained(with(0, false), {1.20501822589, -1.48596399192, 0.197679964229, 1.02124514521});
  expect_trained(with(0.7, false), {1.347559471, -2.34774622697, -0.225671565145, 0.155679975779});
  expect_trained(with(0, true), {1.18097389643, -1.72390130632, 0.165598707072, 0.762241250261});
  expect_trained(with(0.7, true), {1.35568712347, -2.73779000856, -0.312088749065, -0.274228571781});
}

TEST_F(OptimizerRulesTest, AdagradIsPyTorchs) {
  expect_trained(
      [] {
        return adagrad({.learning_rate = 0.125f,
                        .lr_decay = 0.25,
                        .initial_accumulator_value = 0.5,
                        .epsilon = 1e-3,
                        .weight_decay = 0.1});
      },
      {1.45504625159, -0.585501520753, 0.215120086385, 1.81301502896});
}

TEST_F(OptimizerRulesTest, AdadeltaIsPyTorchs) {
  expect_trained([] { return adadelta({.learning_rate = 0.5f, .rho = 0.8, .epsilon = 1e-3, .weight_decay = 0.1}); },
                 {1.42925737955, -0.654512836577, 0.245935288786, 1.80601187222});
}

TEST_F(OptimizerRulesTest, DecoupledDecayIsNoPartOfTheMomentum) {
  for (const bool nesterov : {false, true}) {
    Values v(4);
    const Values expected = by_hand([&](Values& w, const Values& g, int) {
      for (std::size_t i = 0; i < w.size(); ++i) {
        v[i] = 0.5 * v[i] + g[i];
        w[i] -= 0.125 * 0.25 * w[i] + 0.125 * (nesterov ? g[i] + 0.5 * v[i] : v[i]);
      }
    });
    expect_trained(
        [&] {
          return momentum({.learning_rate = 0.125f,
                           .momentum = 0.5,
                           .nesterov = nesterov,
                           .weight_decay = 0.25,
                           .decoupled = true});
        },
        expected);
  }
}

TEST_F(OptimizerRulesTest, WithoutMomentumDecayIsDecoupledAnyway) {
  expect_trained([] { return sgd({.learning_rate = 0.125f, .weight_decay = 0.25}); },
                 by_hand([](Values& w, const Values& g, int) {
                   for (std::size_t i = 0; i < w.size(); ++i) w[i] -= 0.125 * 0.25 * w[i] + 0.125 * g[i];
                 }));
}

// An excluded variable has neither an adapted rate nor weight decay.
Values lars_by_hand(bool excluded) {
  Values v(4);
  const double decay = excluded ? 0 : 0.125;
  return by_hand([&](Values& w, const Values& g, int) {
    const double trust = excluded ? 1 : 0.5 * norm(w) / (norm(g) + decay * norm(w) + 1e-3);
    for (std::size_t i = 0; i < w.size(); ++i) {
      v[i] = 0.75 * v[i] + 0.125 * trust * (g[i] + decay * w[i]);
      w[i] -= v[i];
    }
  });
}

Values lamb_by_hand(bool excluded) {
  Values m(4), v(4);
  const double decay = excluded ? 0 : 0.125;
  return by_hand([&](Values& w, const Values& g, int step) {
    Values d(4);
    for (std::size_t i = 0; i < w.size(); ++i) {
      m[i] = 0.8 * m[i] + 0.2 * g[i];
      v[i] = 0.9 * v[i] + 0.1 * g[i] * g[i];
      d[i] = m[i] / (1 - std::pow(0.8, step)) / (std::sqrt(v[i] / (1 - std::pow(0.9, step))) + 1e-3) + decay * w[i];
    }
    const double trust = excluded ? 1 : norm(w) / norm(d);
    for (std::size_t i = 0; i < w.size(); ++i) w[i] -= 0.125 * trust * d[i];
  });
}

TEST_F(OptimizerRulesTest, LarsAdaptsTheRateToTheNormsExceptOfBiasesAndNorms) {
  const auto make = [] {
    return lars(
        {.learning_rate = 0.125f, .momentum = 0.75, .trust_coefficient = 0.5, .weight_decay = 0.125, .epsilon = 1e-3});
  };
  for (const char* name : {"fc/W", "gb"}) expect_trained(make, lars_by_hand(false), name);
  for (const char* name : {"fc/b", "bn/gamma", "bn/beta", "gru/b_h", "b"})
    expect_trained(make, lars_by_hand(true), name);
}

TEST_F(OptimizerRulesTest, LambAdaptsTheRateToTheNormsExceptOfBiasesAndNorms) {
  const auto make = [] {
    return lamb({.learning_rate = 0.125f, .beta1 = 0.8, .beta2 = 0.9, .epsilon = 1e-3, .weight_decay = 0.125});
  };
  expect_trained(make, lamb_by_hand(false), "fc/W");
  for (const char* name : {"fc/b", "bn/gamma"}) expect_trained(make, lamb_by_hand(true), name);
}

TEST_F(OptimizerRulesTest, WhatIsExcludedCanBeSaid) {
  const auto with = [](const char* exclude) {
    return [=] {
      return lars({.learning_rate = 0.125f,
                   .momentum = 0.75,
                   .trust_coefficient = 0.5,
                   .weight_decay = 0.125,
                   .epsilon = 1e-3,
                   .exclude = exclude});
    };
  };
  expect_trained(with("fc.*"), lars_by_hand(true), "fc/W");
  expect_trained(with(""), lars_by_hand(false), "fc/b");
}

TEST_F(OptimizerRulesTest, ExcludedNamesAreThoseWithoutTheTowersPrefix) {
  const TrainTowerContext tower("tower1", {.index = 1, .total = 2, .variable_scope = "copy1"});
  const Variable w = get_variable("fc/W", {.shape = {2}});
  lars({.learning_rate = 0.125f, .exclude = "fc/W"})->minimize(reduce_sum(square(w)));
  int adapted = 0, not_adapted = 0;
  for (const Operation& op : graph.operations())
    if (op.type() == "ApplyLars") ++(op.node()->attributes.flag("adapt") ? adapted : not_adapted);
  EXPECT_EQ(adapted, 0);
  EXPECT_EQ(not_adapted, 1);
}

TEST_F(OptimizerRulesTest, WhereANormIsZeroTheRateIsNotAdapted) {
  const Variable zero = get_variable("zero", {.shape = {2}, .initializer = init::zeros()}),
                 one = get_variable("one", {.shape = {2}, .initializer = init::ones()});
  const Tensor gradient = constant(Array::full(f32, {2}, 0.5)), none = constant(Array::full(f32, {2}, 0));
  const Operation train = lars({.learning_rate = 0.5f, .weight_decay = 0})
                              ->apply_gradients({{gradient, zero}, {none, one}}),
                  adapt =
                      lamb({.learning_rate = 0.5f, .epsilon = 0, .weight_decay = 0})->apply_gradients({{none, one}});
  Session session(graph);
  session.initialize();
  session.run(train);
  session.run(adapt);
  EXPECT_EQ(session.value(zero).item(), -0.25);
  EXPECT_EQ(session.value(one).item(), 1);
}

TEST_F(OptimizerRulesTest, OptionsOutOfRangeAreNamed) {
  const auto expect = [&](const std::string& text, const std::string& complaint, const std::string& remedy) {
    EXPECT_EQ(text.find(complaint + " (at optimizer_rules_test.cc:"), 0u) << text;
    EXPECT_TRUE(text.ends_with("). " + remedy)) << text;
  };
  const double nan = std::nan("");
  expect(error_of([&] { momentum({.learning_rate = 1.f, .weight_decay = -1, .decoupled = true}); }),
         "[momentum] expected weight_decay of 0 or more, got -1", "0 means no decay.");
  expect(error_of([&] { adamw({.beta1 = 1}); }), "[adamw] expected beta1 in [0, 1), got 1", "The usual one is 0.9.");
  expect(error_of([&] { adamw({.weight_decay = -0.5}); }), "[adamw] expected weight_decay of 0 or more, got -0.5",
         "0 means no decay.");
  expect(error_of([&] { rmsprop({.alpha = 1}); }), "[rmsprop] expected alpha in [0, 1), got 1",
         "The usual one is 0.99.");
  expect(error_of([&] { rmsprop({.momentum = -1}); }), "[rmsprop] expected momentum in [0, 1), got -1",
         "The usual one is 0.9.");
  expect(error_of([&] { rmsprop({.epsilon = nan}); }), "[rmsprop] expected epsilon of 0 or more, got nan",
         "The usual one is 1e-8.");
  expect(error_of([&] { adagrad({.lr_decay = -1}); }), "[adagrad] expected lr_decay of 0 or more, got -1",
         "0 means no decay.");
  expect(error_of([&] { adagrad({.initial_accumulator_value = -1}); }),
         "[adagrad] expected initial_accumulator_value of 0 or more, got -1", "It is a sum of squares.");
  expect(error_of([&] { adagrad({.learning_rate = -1}); }), "[adagrad] expected a learning rate of 0 or more, got -1",
         "To maximise something, minimize its negative.");
  expect(error_of([&] { adadelta({.rho = 1.5}); }), "[adadelta] expected rho in [0, 1), got 1.5",
         "The usual one is 0.9.");
  expect(error_of([&] { lars({.learning_rate = 1.f, .trust_coefficient = -1}); }),
         "[lars] expected trust_coefficient of 0 or more, got -1", "The usual one is 1e-3.");
  expect(error_of([&] { lamb({.epsilon = -1}); }), "[lamb] expected epsilon of 0 or more, got -1",
         "The usual one is 1e-6.");
  const std::string text = error_of([&] { lamb({.exclude = "(b"}); });
  EXPECT_EQ(text.find("[lamb] expected an ECMAScript regular expression, got \"(b\" ("), 0u) << text;
  EXPECT_TRUE(contains(text, "at optimizer_rules_test.cc:")) << text;
  EXPECT_TRUE(text.ends_with("Escape special characters with a backslash.")) << text;
}

}  // namespace
}  // namespace belfry
