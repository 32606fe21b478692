// Updates against PyTorch's rules, written out in f64 one element at a time.
#include "belfry/ops/optimizer.h"

#include <cmath>

#include "tests/ops/op_test.h"

namespace belfry {
namespace {

constexpr int kSteps = 4;

class OptimizerTest : public OpTest {
 protected:
  Variable variable(const char* name, DType dtype, Array value) {
    return get_variable(name, {.shape = value.shape(), .dtype = dtype, .initializer = [value](const Shape&, DType d) {
                                 return constant(value.cast(d));
                               }});
  }
  static double gradient_at(int step) { return 0.3 * step - 0.7; }

  // Runs `update` kSteps times, feeding the gradient, and compares with `rule`, which changes a weight in place.
  template <class Update, class Rule>
  void compare(DType dtype, double start, Update update, Rule rule) {
    Graph own;
    const GraphScope inside(own);
    const Variable w = variable("w", dtype, Array::full(f64, {2, 3}, start));
    const Tensor g = placeholder(dtype, {2, 3}), step = placeholder(f32, {});
    const Tensor updated = update(w, g, step);
    Session session(own);
    session.initialize();
    double expected = start;
    for (int i = 1; i <= kSteps; ++i) {
      rule(expected, gradient_at(i), i);
      const Array out =
          session.run(updated, {{g, Array::full(dtype, {2, 3}, gradient_at(i))}, {step, static_cast<float>(i)}});
      for (int k = 0; k < 6; ++k) {
        ASSERT_NEAR(out.item(k), expected, dtype == f64 ? 1e-7 : 1e-6) << "step " << i;
        ASSERT_EQ(session.value(w).item(k), out.item(k)) << "the new value and the variable, step " << i;
      }
    }
  }
};

TEST_F(OptimizerTest, SgdIsPyTorchs) {
  for (const DType dtype : {f32, f64})
    for (const double decay : {0.0, 0.1})
      compare(
          dtype, 1.5,
          [&](const Variable& w, const Tensor& g, const Tensor&) {
            return apply_sgd(w, 0.25f, g, {.weight_decay = decay});
          },
          [&](double& w, double g, int) { w -= 0.25 * (g + decay * w); });
}

TEST_F(OptimizerTest, MomentumIsPyTorchsPlainAndNesterov) {
  for (const DType dtype : {f32, f64})
    for (const bool nesterov : {false, true}) {
      double buffer = 0;
      compare(
          dtype, 1.5,
          [&](const Variable& w, const Tensor& g, const Tensor&) {
            const Variable slot = variable("slot", dtype, Array::zeros(f64, {2, 3}));
            return apply_momentum(w, slot, 0.25f, g, {.momentum = 0.875, .nesterov = nesterov, .weight_decay = 0.1});
          },
          [&](double& w, double g, int) {
            g += 0.1 * w;
            buffer = 0.875 * buffer + g;
            w -= 0.25 * (nesterov ? g + 0.875 * buffer : buffer);
          });
    }
}

TEST_F(OptimizerTest, AdamIsPyTorchs) {
  for (const DType dtype : {f32, f64}) {
    double m = 0, v = 0;
    compare(
        dtype, 1.5,
        [&](const Variable& w, const Tensor& g, const Tensor& step) {
          const AdamSlots slots{variable("m", dtype, Array::zeros(f64, {2, 3})),
                                variable("v", dtype, Array::zeros(f64, {2, 3}))};
          return apply_adam(w, slots, step, 0.25f, g,
                            {.beta1 = 0.8, .beta2 = 0.9, .epsilon = 1e-3, .weight_decay = 0.1});
        },
        [&](double& w, double g, int step) {
          g += 0.1 * w;
          m = 0.8 * m + 0.2 * g;
          v = 0.9 * v + 0.1 * g * g;
          w -= 0.25 / (1 - std::pow(0.8, step)) * m / (std::sqrt(v) / std::sqrt(1 - std::pow(0.9, step)) + 1e-3);
        });
  }
}

TEST_F(OptimizerTest, AnAccumulatorKeepsItsOwnValue) {
  const Variable w = variable("w", f32, Array::full(f64, {2}, 1)), slot = variable("slot", f32, Array::zeros(f64, {2}));
  const Tensor update = apply_momentum(w, slot, 0.5f, constant(Array::full(f32, {2}, 2)), {.momentum = 0.5});
  Session session(graph);
  session.initialize();
  session.run(update);
  session.run(update);
  EXPECT_EQ(session.value(slot).item(), 3);
  EXPECT_EQ(session.value(w).item(1), 1 - 0.5 * 2 - 0.5 * 3);
}

TEST_F(OptimizerTest, AnEmptyVariableIsLeftAlone) {
  const Variable w = variable("w", f32, Array(f64, {0, 3}));
  const Tensor update = apply_sgd(w, 0.5f, constant(Array(f32, {0, 3})));
  Session session(graph);
  session.initialize();
  EXPECT_EQ(session.run(update).shape(), Shape({0, 3}));
}

TEST_F(OptimizerTest, MistakesAreFoundWhenTheUpdateIsMade) {
  const Variable w = variable("w", f32, Array::zeros(f64, {2})), other = variable("other", f32, Array::zeros(f64, {3}));
  std::string text = error_of([&] { apply_sgd(w, 0.5f, constant(counting({3})), {}, "update"); });
  EXPECT_NE(text.find("[ApplySgd 'update'] expected a gradient of the variable's f32 [2], got f32 [3]"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("optimizer_test.cc:"), std::string::npos) << text;
  text = error_of([&] { apply_momentum(w, other, 0.5f, constant(counting({2}))); });
  EXPECT_NE(text.find("expected an accumulator of the variable's f32 [2], got f32 [3]"), std::string::npos) << text;
  text = error_of([&] { apply_adam(w, {w, w}, constant(1), 0.5f, constant(counting({2}))); });
  EXPECT_NE(text.find("expected a step that is a single float, got i32 []"), std::string::npos) << text;
  text = error_of([&] { apply_sgd(w, constant(counting({1})), constant(counting({2}))); });
  EXPECT_NE(text.find("expected a learning rate that is a single float, got f32 [1]"), std::string::npos) << text;
}

}  // namespace
}  // namespace belfry
