// The check itself must catch what it is for.
#include "tests/ops/gradient_check.h"

#include <gtest/gtest-spi.h>

#include "belfry/ops/pointwise.h"

namespace belfry {
namespace {

Tensor square_with_gradient(const Tensor& x, Tensor (*gradient)(const Tensor& x, const Tensor& dy)) {
  return custom_gradient(
      {x}, [](const Tensors& in) { return Tensors{square(in[0])}; },
      [gradient](const Tensors& in, const Tensors&, const Tensors& dy) { return Tensors{gradient(in[0], dy[0])}; })[0];
}

void check_wrong_gradient() {
  check_gradient(
      [](const Tensors& x) {
        return square_with_gradient(x[0], [](const Tensor& in, const Tensor& dy) { return dy * in * 2.001f; });
      },
      {{2}});
}
void check_wrong_second_order() {
  const Maker maker = [](const Tensors& x) {
    return square_with_gradient(x[0], [](const Tensor& in, const Tensor& dy) { return dy * stop_gradient(in) * 2.f; });
  };
  check_gradient(maker, {{2}});
  check_second_order(maker, {{2}});
}
void check_missing_gradient() {
  check_gradient([](const Tensors& x) { return stop_gradient(x[0]) * x[1]; }, {{2}, {2}});
}

TEST(GradientCheckItself, AcceptsACorrectGradient) {
  check_second_order(
      [](const Tensors& x) {
        return square_with_gradient(x[0], [](const Tensor& in, const Tensor& dy) { return dy * in * 2.f; });
      },
      {{2}});
}
TEST(GradientCheckItself, FindsAWrongFactor) {
  EXPECT_FATAL_FAILURE(check_wrong_gradient(), "gradient of input 0, element 0");
}
TEST(GradientCheckItself, FindsASecondDerivativeThatIsCutOff) {
  EXPECT_FATAL_FAILURE(check_wrong_second_order(), "second order, through the gradient of input 0");
}
TEST(GradientCheckItself, FindsAGradientThatIsMissing) {
  EXPECT_FATAL_FAILURE(check_missing_gradient(), "gradient of input 0, element 0");
}

}  // namespace
}  // namespace belfry
