#include "belfry/ops/gelu.h"

#include <cmath>

#include "belfry/graph/gradients.h"
#include "belfry/ops/pointwise.h"
#include "tests/ops/gradient_check.h"
#include "tests/ops/op_test.h"

namespace belfry {
namespace {

using X = const Tensors&;

const std::vector<ShapeList> kGeluShapes{{{2, 3}}, {{}}, {{0, 3}}, {{2, 1, 3, 2}}};
const bool gelu_rows[] = {
    gradient_row("Erf", {"Erf"}, [](X x) { return erf(x[0]); }, kGeluShapes, {.low = -3, .high = 3}),
    gradient_row("Gelu", {"Gelu", "GeluGrad"}, [](X x) { return gelu(x[0]); }, kGeluShapes, {.low = -3, .high = 3}),
};

class GeluTest : public OpTest {};

// torch.nn.functional.gelu, its gradient and torch.erf of these numbers in float64, printed by PyTorch 1.13:
//   x = torch.tensor([-3, -1, -.25, 0, .5, 1, 2.5], dtype=torch.float64, requires_grad=True)
//   y = torch.nn.functional.gelu(x); y.sum().backward(); print(y, x.grad, torch.erf(x))
const std::vector<double> kX{-3, -1, -.25, 0, .5, 1, 2.5};
const std::vector<double> kGelu{-0.00404969409489031, -0.15865525393145702, -0.10032341857926907, 0.0,
                                0.34573123063700656,  0.841344746068543,    2.4844758366855597};
const std::vector<double> kSlope{-0.01194564720418392, -0.08331547058768635, 0.304626645116364, 0.5,
                                 0.8674951246561629,   1.0833154705876864,   1.037611085908145};
const std::vector<double> kErf{-0.9999779095030014, -0.8427007929497149, -0.27632639016823696, 0.0,
                               0.5204998778130465,  0.8427007929497149,  0.999593047982555};

void expect_near(const Array& got, const std::vector<double>& wanted, double tolerance) {
  for (std::size_t i = 0; i < wanted.size(); ++i)
    EXPECT_NEAR(got.item(static_cast<std::int64_t>(i)), wanted[i], tolerance) << "element " << i;
}

TEST_F(GeluTest, GivesWhatPyTorchGives) {
  for (const DType dtype : {f32, f64}) {
    const double tolerance = dtype == f32 ? 2.5e-7 : 1e-14;
    const Tensor x = input(Array::of<double>({7}, kX).cast(dtype));
    expect_near(run(gelu(x)), kGelu, tolerance);
    expect_near(run(erf(x)), kErf, tolerance);
    expect_near(run(gradients({gelu(x)}, {x})[0]), kSlope, tolerance);
    // The same inside a chain of pointwise ops.
    expect_near(run(gelu(x * 1.f) + x - x), kGelu, tolerance * 4);
  }
}

TEST_F(GeluTest, SmallNegativeTailsKeepTheirDigits) {
  // -8 * (share below -8) = -8 * 6.22096057427178e-16
  EXPECT_NEAR(floats(gelu(input(Array::of<float>({1}, {-8}))))[0], -4.97676845941743e-15, 5e-21);
}

TEST_F(GeluTest, MistakesAreNamed) {
  const std::string text = error_of([] { gelu(placeholder(i32, {3}), "act"); });
  EXPECT_NE(text.find("[Gelu 'act'] expected elements of f32 or f64, got i32. Use cast()"), std::string::npos) << text;
}

}  // namespace
}  // namespace belfry
