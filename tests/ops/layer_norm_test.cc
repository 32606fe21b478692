#include "belfry/ops/layer_norm.h"

#include "belfry/graph/gradients.h"
#include "tests/ops/gradient_check.h"
#include "tests/ops/op_test.h"

namespace belfry {
namespace {

using X = const Tensors&;

const bool layer_norm_rows[] = {
    gradient_row(
        "LayerNorm", {"LayerNorm", "LayerNormGrad"}, [](X x) { return layer_norm(x[0], x[1], x[2]); },
        {{{2, 3}, {3}, {3}}, {{4}, {4}, {4}}, {{2, 2, 2}, {2, 2}, {2, 2}}, {{0, 3}, {3}, {3}}, {{2, 0}, {0}, {0}}},
        {.tolerance = 3e-6, .tolerance_f32 = 3e-4}),
};

class LayerNormTest : public OpTest {};

void expect_close_to(const Array& got, const std::vector<double>& wanted, double tolerance) {
  ASSERT_EQ(got.elements(), static_cast<std::int64_t>(wanted.size()));
  for (std::size_t i = 0; i < wanted.size(); ++i)
    EXPECT_NEAR(got.item(static_cast<std::int64_t>(i)), wanted[i], tolerance) << "element " << i;
}

// torch.nn.functional.layer_norm(x, (4,), gamma, beta, 1e-5) and its gradients, printed by PyTorch 1.13 in float64 for
// the tensors below.
TEST_F(LayerNormTest, GivesWhatPyTorchGives) {
  for (const DType dtype : {f32, f64}) {
    const double tolerance = dtype == f32 ? 3e-6 : 1e-13;
    const auto in = [&](const Shape& shape, const std::vector<double>& v) {
      return input(Array::of<double>(shape, v).cast(dtype));
    };
    const Tensor x = in({2, 4}, {1, 2, 4, -1, 0.5, 0.5, 3, 2}), gamma = in({4}, {1, -2, 0.5, 3});
    const Tensor beta = in({4}, {0, 1, 2, 3}), dy = in({2, 4}, {1, 2, 3, 4, -1, 0, 1, 2});
    const Tensor y = layer_norm(x, gamma, beta);
    expect_close_to(run(y),
                    {-0.27734967142114, 0.445300657157718, 2.69337417855285, -1.16024507131711, -0.942804851347591,
                     2.88560970269518, 2.70710363851069, 4.41420727702139},
                    tolerance);
    const Tensors d = gradients({y}, {x, gamma, beta}, {.grad_ys = {dy}});
    expect_close_to(run(d[0]),
                    {-1.51475401047676, -3.06151556797206, 2.44280113109269, 2.13346844735613, -1.24398746929743,
                     -0.301182617949837, -2.31771532390879, 3.86288541115606},
                    tolerance);
    expect_close_to(run(d[1]), {0.665455179926451, 0.554699342842282, 5.5744523483385, -4.60418857707522}, tolerance);
    expect_close_to(run(d[2]), {0, 2, 4, 6}, tolerance);
  }
}

TEST_F(LayerNormTest, ALargeMeanDoesNotSpoilTheVariance) {
  const Tensor x = input(Array::of<float>({1, 4}, {10000, 10001, 10002, 10003}));
  const Tensor one = input(Array::full(f32, {4}, 1)), zero = input(Array::zeros(f32, {4}));
  expect_close_to(run(layer_norm(x, one, zero, {.epsilon = 0})),
                  {-1.3416407864998738, -0.4472135954999579, 0.4472135954999579, 1.3416407864998738}, 1e-6);
}

TEST_F(LayerNormTest, ShapesKeepWhatIsKnown) {
  const Tensor gamma = placeholder(f32, {8}), x = placeholder(f32, {kAny, 5, 8});
  EXPECT_EQ(layer_norm(x, gamma, gamma).shape(), Shape({kAny, 5, 8}));
}

TEST_F(LayerNormTest, MistakesAreNamed) {
  const auto has = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  const Tensor x = placeholder(f32, {2, 8}), g = placeholder(f32, {8});
  has(error_of([&] { layer_norm(x, placeholder(f32, {2}), g, {}, "norm"); }),
      "[LayerNorm 'norm'] expected gamma and beta of the shape of the last axes of [2, 8], got [2]");
  has(error_of([&] { layer_norm(x, placeholder(f32, {}), g); }), "of the last axes of [2, 8], got []");
  has(error_of([&] { layer_norm(x, g, placeholder(f32, {7})); }), "expected beta of shape [8], got [7]");
  has(error_of([&] { layer_norm(x, g, placeholder(f64, {8})); }),
      "expected inputs of one floating type, got f32 and f64. Use cast()");
  has(error_of([&] { layer_norm(x, g, g, {.epsilon = -1}); }), "expected epsilon of 0 or more, got -1");
}

}  // namespace
}  // namespace belfry
