#include "belfry/ops/activation.h"

#include <cmath>
#include <limits>

#include "belfry/ops/pointwise.h"
#include "tests/ops/gradient_check.h"
#include "tests/ops/op_test.h"
#include "tests/support/rounding.h"

namespace belfry {
namespace {

using X = const Tensors&;
const std::vector<ShapeList> kActivationShapes{{{2, 3}}, {{}}, {{0, 3}}, {{2, 1, 3, 2}}};

const bool activation_rows[] = {
    gradient_row(
        "Softplus", {"Softplus"}, [](X x) { return softplus(x[0] * 4.f); }, kActivationShapes),
    gradient_row(
        "Elu", {"Elu"}, [](X x) { return elu(x[0] * 2.f); }, kActivationShapes),
    gradient_row(
        "Selu", {"Selu"}, [](X x) { return selu(x[0] * 2.f); }, kActivationShapes),
    gradient_row(
        "Swish", {"Swish"}, [](X x) { return swish(x[0] * 4.f); }, kActivationShapes),
    gradient_row("Prelu", {"Prelu"}, [](X x) { return prelu(x[0], x[1]); },
                 {{{2, 3}, {3}}, {{2, 3}, {}}, {{2, 3, 2}, {3, 1}}, {{0, 3}, {3}}}),
};

class ActivationTest : public OpTest {};

// /usr/bin/python3 -c "import torch, torch.nn.functional as F; x = torch.tensor([-20., -1.5, -0.1, 0., 0.7, 30.]);
// [print(n, getattr(F, n)(x).tolist()) for n in ['softplus', 'elu', 'selu', 'silu']]"
TEST_F(ActivationTest, ValuesAreThoseOfPyTorch) {
  const Tensor x = input(Array::of<float>({6}, {-20, -1.5f, -0.1f, 0, 0.7f, 30}));
  const auto expect = [&](const Tensor& y, const std::vector<float>& wanted) {
    const std::vector<float> got = floats(y);
    for (std::size_t i = 0; i < wanted.size(); ++i)
      // Three units of the last place in the functions, two in factors and constants, one in what PyTorch printed.
      EXPECT_NEAR(got[i], wanted[i], rounding_bound(12, std::abs(wanted[i]))) << Operation(y).type() << " " << i;
  };
  expect(softplus(x), {2.06115369e-9f, 0.20141329f, 0.64439666f, 0.69314718f, 1.10318601f, 30});
  expect(elu(x), {-1, -0.77686983f, -0.09516257f, 0, 0.69999999f, 30});
  expect(selu(x), {-1.75809932f, -1.36581433f, -0.16730525f, 0, 0.73549068f, 31.521030f});
  expect(swish(x), {-4.12230747e-8f, -0.27363828f, -0.04750208f, 0, 0.46773142f, 30});
  expect(prelu(x, 0.25f), {-5, -0.375f, -0.025f, 0, 0.7f, 30});
}

TEST_F(ActivationTest, ExtremesNeitherOverflowNorHideNotANumber) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  for (const DType dtype : {f32, f64}) {
    const Tensor x = input(Array::of<float>({5}, {-inf, -200, 200, inf, nan}).cast(dtype));
    const auto expect = [&](const Tensor& y, const std::vector<double>& wanted) {
      const Array got = run(y);
      for (std::size_t i = 0; i + 1 < wanted.size(); ++i)
        EXPECT_NEAR(got.item(static_cast<std::int64_t>(i)), wanted[i], 1e-6) << Operation(y).type() << " " << i;
      EXPECT_EQ(got.item(3), wanted[3]) << Operation(y).type();
      EXPECT_TRUE(std::isnan(got.item(4))) << Operation(y).type();
    };
    const double low = -1.7580993408473766;  // -scale alpha
    expect(softplus(x), {0, 0, 200, inf});
    expect(elu(x), {-1, -1, 200, inf});
    expect(selu(x) / 200.f, {low / 200, low / 200, 1.0507009873554805, inf});
    const Array y = run(swish(x));
    EXPECT_NEAR(y.item(1), 0, 1e-6);
    EXPECT_EQ(y.item(2), 200);
  }
}

TEST_F(ActivationTest, PreluHasASlopeForEachChannel) {
  const Tensor x = input(Array::of<float>({2, 3}, {-1, -2, 3, 4, -5, -6}));
  const Tensor slope = input(Array::of<float>({3}, {0.1f, 0.5f, 2}));
  EXPECT_EQ(floats(prelu(x, slope)), (std::vector<float>{-0.1f, -1, 3, 4, -2.5f, -12}));
  const Tensors g = gradients({prelu(x, slope)}, {x, slope});
  EXPECT_EQ(floats(g[0]), (std::vector<float>{0.1f, 0.5f, 1, 1, 0.5f, 2}));
  EXPECT_EQ(floats(g[1]), (std::vector<float>{-1, -7, -6}));
  const std::string text = error_of([&] { prelu(x, input(counting({2}))); });
  EXPECT_NE(text.find("[2, 3]"), std::string::npos) << text;
}

TEST_F(ActivationTest, IntegersAreRefused) {
  for (const auto op : {softplus, elu, selu, swish})
    EXPECT_NE(error_of([&] { op(constant(1), ""); }).find("expected elements of f32 or f64, got i32. Use cast()"),
              std::string::npos);
}

}  // namespace
}  // namespace belfry
