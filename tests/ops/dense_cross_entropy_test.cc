#include <cmath>
#include <limits>

#include "belfry/ops/pointwise.h"
#include "belfry/ops/softmax.h"
#include "tests/ops/gradient_check.h"
#include "tests/ops/op_test.h"

namespace belfry {
namespace {

using X = const Tensors&;

const bool dense_cross_entropy_rows[] = {
    gradient_row("SoftmaxCrossEntropy", {"SoftmaxCrossEntropy", "SoftmaxCrossEntropyGrad"},
                 [](X x) { return softmax_cross_entropy(x[0] * 2.f, x[1]); },
                 {{{2, 3}, {2, 3}}, {{3}, {3}}, {{0, 3}, {0, 3}}, {{2, 2, 1}, {2, 2, 1}}}),
};

class DenseCrossEntropyTest : public OpTest {};

TEST_F(DenseCrossEntropyTest, LossAndGradientAreTheClosedForm) {
  constexpr std::int64_t n = 37, classes = 53;
  Array logits(f64, {n, classes}), labels(f64, {n, classes});
  for (std::int64_t i = 0; i < n * classes; ++i) {
    logits.set_item(i, 5 * std::sin(static_cast<double>(i * 7)));
    labels.set_item(i, i % 5 == 0 ? 0 : 0.01 * static_cast<double>(i % 7));
  }
  for (const DType dtype : {f32, f64}) {
    const Tensor x = input(logits.cast(dtype)), l = input(labels.cast(dtype));
    const Tensor loss = softmax_cross_entropy(x, l);
    const Array got = run(loss), slope = run(gradients({loss}, {x})[0]);
    const double tolerance = dtype == f64 ? 1e-12 : 1e-4;
    for (std::int64_t r = 0; r < n; ++r) {
      double total = 0, weight = 0, wanted = 0;
      for (std::int64_t k = 0; k < classes; ++k) total += std::exp(logits.item(r * classes + k));
      for (std::int64_t k = 0; k < classes; ++k) {
        weight += labels.item(r * classes + k);
        wanted -= labels.item(r * classes + k) * (logits.item(r * classes + k) - std::log(total));
      }
      ASSERT_NEAR(got.item(r), wanted, tolerance * wanted) << r;
      for (std::int64_t k = 0; k < classes; ++k)
        ASSERT_NEAR(slope.item(r * classes + k),
                    std::exp(logits.item(r * classes + k)) / total * weight - labels.item(r * classes + k), tolerance);
    }
  }
}

TEST_F(DenseCrossEntropyTest, ALabelOfZeroForgetsAnImpossibleClass) {
  const double inf = std::numeric_limits<double>::infinity();
  for (const DType dtype : {f32, f64}) {
    const Tensor x = input(Array::of<double>({2, 3}, {-inf, 0, 0, 1000, -1000, 0}).cast(dtype)),
                 l = input(Array::of<double>({2, 3}, {0, 0.5, 0.5, 1, 0, 0}).cast(dtype));
    const Array y = run(softmax_cross_entropy(x, l));
    EXPECT_NEAR(y.item(0), std::log(2), 1e-6);
    EXPECT_NEAR(y.item(1), 0, 1e-6);
  }
}

TEST_F(DenseCrossEntropyTest, MistakesAreNamed) {
  const Tensor x = placeholder(f32, {kAny, 3}, "x");
  EXPECT_EQ(softmax_cross_entropy(x, placeholder(f32, {4, 3})).shape(), Shape({4}));
  std::string text = error_of([&] { softmax_cross_entropy(x, placeholder(f32, {kAny}), "loss"); });
  EXPECT_NE(text.find("[SoftmaxCrossEntropy 'loss'] expected labels of shape [?, 3], got [?]"), std::string::npos)
      << text;
  text = error_of([&] { softmax_cross_entropy(x, placeholder(i32, {kAny, 3})); });
  EXPECT_NE(text.find("expected inputs of one floating type, got f32 and i32. Use cast()"), std::string::npos) << text;
  text = error_of([&] { softmax_cross_entropy(placeholder(f32, {2, 0}), placeholder(f32, {2, 0})); });
  EXPECT_NE(text.find("expected logits of at least one class, got [2, 0]"), std::string::npos) << text;
}

}  // namespace
}  // namespace belfry
