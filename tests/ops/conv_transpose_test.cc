#include "belfry/ops/conv_transpose.h"

#include "belfry/graph/gradients.h"
#include "belfry/ops/conv.h"
#include "tests/ops/conv_testing.h"
#include "tests/ops/gradient_check.h"
#include "tests/ops/op_test.h"

namespace belfry {
namespace {

using X = const Tensors&;

Maker transposed(const Conv2dTransposeOptions& options) {
  return [options](X x) { return conv2d_transpose(x[0], x[1], options); };
}

const std::vector<std::string> kConvTransposeOps{"Conv2DTranspose"};
const bool conv_transpose_rows[] = {
    gradient_row("Conv2DTransposeSame", kConvTransposeOps, transposed({.strides = 2}),
                 {{{2, 2, 3, 3}, {3, 2, 2, 3}}, {{1, 1, 1, 1}, {3, 3, 1, 1}}, {{0, 2, 3, 2}, {3, 2, 3, 2}}}),
    gradient_row("Conv2DTransposeValid", kConvTransposeOps, transposed({.strides = {2, 1}, .padding = Padding::valid}),
                 {{{1, 3, 2, 2}, {3, 2, 2, 2}}}),
    gradient_row("Conv2DTransposeExplicit", kConvTransposeOps,
                 transposed({.strides = 2, .dilations = {1, 2}, .padding = Padding::explicit_({1, 0, 2, 1})}),
                 {{{1, 3, 2, 1}, {2, 3, 2, 1}}}),
    // As the generator of a GAN: a window of twice the stride, one channel out.
    gradient_row("Conv2DTransposeOneChannel", kConvTransposeOps,
                 transposed({.strides = 2, .padding = Padding::explicit_({1, 1, 1, 1})}),
                 {{{2, 2, 3, 17}, {4, 4, 1, 17}}}),
    gradient_row("Conv2DTransposeGroups", kConvTransposeOps, transposed({.strides = {1, 2}, .groups = 2}),
                 {{{2, 2, 3, 4}, {2, 2, 2, 4}}}),
    gradient_row("Conv2DTransposeDepthwise", kConvTransposeOps, transposed({.strides = 2, .groups = 3}),
                 {{{1, 2, 3, 3}, {3, 3, 1, 3}}}),
    gradient_row("Conv2DTransposeChannelsFirst", kConvTransposeOps,
                 transposed({.strides = 2, .data_format = DataFormat::nchw}), {{{2, 2, 2, 3}, {3, 3, 2, 2}}}),
};

// The definition: every x(n, o, i, j) adds its weights to its window. `y` has the result's shape.
struct Case {
  Shape x, filter, y;
  Conv2dTransposeOptions options;
  Pads pads;
};
Array naive(const Array& x, const Array& filter, const Case& c) {
  const bool last = c.options.data_format == DataFormat::nhwc;
  const auto at = [&](const Shape& shape, std::int64_t n, std::int64_t channel, std::int64_t i, std::int64_t j) {
    return last ? ((n * shape[1] + i) * shape[2] + j) * shape[3] + channel
                : ((n * shape[1] + channel) * shape[2] + i) * shape[3] + j;
  };
  const int row = last ? 1 : 2;
  const std::int64_t per_group = c.filter[2], in = c.filter[3], in_group = in / c.options.groups;
  Array y = Array::zeros(f64, c.y);
  for (std::int64_t n = 0; n < c.x[0]; ++n)
    for (std::int64_t i = 0; i < c.x[row]; ++i)
      for (std::int64_t j = 0; j < c.x[row + 1]; ++j)
        for (std::int64_t ky = 0; ky < c.filter[0]; ++ky)
          for (std::int64_t kx = 0; kx < c.filter[1]; ++kx) {
            const std::int64_t h = i * c.options.strides.height + ky * c.options.dilations.height - c.pads.top;
            const std::int64_t w = j * c.options.strides.width + kx * c.options.dilations.width - c.pads.left;
            if (h < 0 || h >= c.y[row] || w < 0 || w >= c.y[row + 1]) continue;
            for (std::int64_t o = 0; o < in; ++o)
              for (std::int64_t k = 0; k < per_group; ++k) {
                const std::int64_t to = at(c.y, n, o / in_group * per_group + k, h, w);
                const std::int64_t tap = (ky * c.filter[1] + kx) * per_group + k;
                y.set_item(to, y.item(to) + x.item(at(c.x, n, o, i, j)) * filter.item(tap * in + o));
              }
          }
  return y;
}

class ConvTransposeTest : public OpTest {
 protected:
  Shape shape(const Shape& x, const Shape& filter, const Conv2dTransposeOptions& options = {}) {
    return conv2d_transpose(placeholder(f32, x), placeholder(f32, filter), options).shape();
  }
  std::string error(const Shape& x, const Shape& filter, const Conv2dTransposeOptions& options = {}) {
    return error_of([&] { shape(x, filter, options); });
  }
};

TEST_F(ConvTransposeTest, SizesFollowTensorFlowsAndPyTorchsRules) {
  EXPECT_EQ(shape({8, 7, 7, 128}, {4, 4, 64, 128}, {.strides = 2}), Shape({8, 14, 14, 64}));
  EXPECT_EQ(shape({8, 7, 7, 3}, {5, 2, 4, 3}, {.strides = {2, 3}, .padding = Padding::valid}), Shape({8, 17, 21, 4}));
  // (in - 1) * stride + reach - padding
  EXPECT_EQ(shape({8, 7, 7, 3}, {4, 3, 4, 3}, {.strides = 2, .padding = Padding::explicit_({1, 1, 1, 1})}),
            Shape({8, 14, 13, 4}));
  EXPECT_EQ(shape({8, 7, 7, 3}, {2, 2, 4, 3}, {.strides = 3, .padding = Padding::explicit_({})}),
            Shape({8, 20, 20, 4}));
  EXPECT_EQ(shape({8, 7, 7, 3}, {3, 3, 4, 3}, {.dilations = 2, .padding = Padding::valid}), Shape({8, 11, 11, 4}));
  EXPECT_EQ(shape({8, 6, 5, 5}, {3, 3, 2, 6}, {.groups = 3, .data_format = DataFormat::nchw}), Shape({8, 6, 5, 5}));
}

TEST_F(ConvTransposeTest, AGivenSizeIsTakenIfTheConvolutionLeadsBack) {
  EXPECT_EQ(shape({8, 7, 7, 3}, {3, 3, 4, 3}, {.strides = 2, .output_size = Extent(13, 14)}), Shape({8, 13, 14, 4}));
  EXPECT_EQ(shape({8, kAny, 7, 3}, {3, 3, 4, 3}, {.strides = 2, .output_size = 13}), Shape({8, 13, 13, 4}));
  const std::string text = error({8, 7, 7, 3}, {3, 3, 4, 3}, {.strides = 2, .output_size = 12});
  EXPECT_NE(text.find("expected an output_size that the convolution maps back to the input [8, 7, 7, 3], got 12 x 12, "
                      "which gives [8, 6, 6, 3]. Omit it for the default size"),
            std::string::npos)
      << text;
}

TEST_F(ConvTransposeTest, UnknownDimensionsStayUnknownAndNothingElse) {
  EXPECT_EQ(shape({kAny, kAny, 7, 128}, {4, 4, 64, 128}, {.strides = 2}), Shape({kAny, kAny, 14, 64}));
  EXPECT_EQ(shape({2, 7, 7, kAny}, {kAny, 3, kAny, 5}, {.padding = Padding::valid}), Shape({2, kAny, 9, kAny}));
}

TEST_F(ConvTransposeTest, AgreesWithTheDefinition) {
  const Case cases[] = {
      {{2, 3, 4, 5}, {3, 3, 4, 5}, {2, 6, 8, 4}, {.strides = 2}, {0, 1, 0, 1}},
      {{2, 3, 4, 5}, {3, 2, 4, 5}, {2, 3, 12, 4}, {.strides = {1, 3}}, {1, 1, 0, 0}},
      {{2, 3, 4, 5}, {3, 2, 4, 5}, {2, 7, 12, 4}, {.strides = {2, 3}, .padding = Padding::valid}, {}},
      {{2, 7, 7, 32},
       {4, 4, 16, 32},
       {2, 14, 14, 16},
       {.strides = 2, .padding = Padding::explicit_({1, 1, 1, 1})},
       {1, 1, 1, 1}},
      {{3, 7, 6, 40},
       {4, 4, 1, 40},
       {3, 14, 12, 1},
       {.strides = 2, .padding = Padding::explicit_({1, 1, 1, 1})},
       {1, 1, 1, 1}},
      {{2, 5, 6, 20}, {3, 5, 3, 20}, {2, 5, 6, 3}, {}, {1, 1, 2, 2}},
      {{2, 5, 6, 20},
       {5, 3, 1, 20},
       {2, 20, 18, 1},
       {.strides = {3, 2},
        .dilations = {2, 3},
        .padding = Padding::explicit_({2, 0, 0, 0}),
        .output_size = Extent(20, 18)},
       {2, 0, 0, 0}},
      {{2, 4, 3, 5},
       {3, 2, 3, 4},
       {2, 6, 6, 10},
       {.strides = 2, .groups = 2, .data_format = DataFormat::nchw},
       {0, 1, 0, 0}},
      {{2, 3, 3, 20}, {3, 3, 1, 20}, {2, 6, 6, 20}, {.strides = 2, .groups = 20}, {0, 1, 0, 1}},
  };
  for (const Case& c : cases) {
    const Array x = random_doubles(c.x, 1), filter = random_doubles(c.filter, 2), wanted = naive(x, filter, c),
                squares = naive(squared(x), squared(filter), c);
    const std::int64_t terms = filter.elements() / c.filter[2];
    for (DType dtype : {f64, f32}) {
      const Tensor a = placeholder(dtype, c.x), b = placeholder(dtype, c.filter);
      const Array got = run(conv2d_transpose(a, b, c.options), {{a, x.cast(dtype)}, {b, filter.cast(dtype)}});
      ASSERT_EQ(got.shape(), wanted.shape());
      for (std::int64_t i = 0; i < got.elements(); ++i)
        ASSERT_NEAR(got.item(i), wanted.item(i), product_bound(terms, squares.item(i), dtype))
            << to_string(c.x) << " element " << i;
    }
  }
}

TEST_F(ConvTransposeTest, IsTheGradientOfTheConvolutionThatLeadsBack) {
  const Tensor y = input(random_doubles({2, 9, 8, 3}, 1).cast(f32)),
               x = input(random_doubles({2, 5, 4, 7}, 2).cast(f32));
  const Tensor filter = input(random_doubles({3, 4, 3, 7}, 3).cast(f32));
  const Tensor back = conv2d(y, filter, {.strides = 2});
  const Tensor direct = conv2d_transpose(x, filter, {.strides = 2, .output_size = Extent(9, 8)});
  EXPECT_EQ(floats(direct), floats(gradients({back}, {y}, {.grad_ys = {x}})[0]));
}

TEST_F(ConvTransposeTest, AnEmptyBatchHasAZeroFilterGradient) {
  const Tensor x = placeholder(f32, {kAny, 4, 4, 2}), filter = constant(counting({3, 3, 3, 2}));
  const Tensor y = conv2d_transpose(x, filter, {.strides = 2});
  const Feeds empty{{x, Array(f32, {0, 4, 4, 2})}};
  EXPECT_EQ(run(y, empty).shape(), Shape({0, 8, 8, 3}));
  EXPECT_EQ(floats(gradients({y}, {filter})[0], empty), std::vector<float>(54, 0.f));
}

TEST_F(ConvTransposeTest, MistakesAreNamed) {
  const auto has = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  has(error({1, 8, 8, 4}, {3, 3, 4, 6}),
      "input has 4 channels last ([1, 8, 8, 4]), but the filter [3, 3, 4, 6] expects 6 (its last axis)");
  has(error({8, 8, 4}, {3, 3, 4, 4}), "expected an input of rank 4 (NHWC), got [8, 8, 4]");
  has(error({1, 8, 8, 4}, {3, 4, 4}),
      "expected a filter of rank 4 (height, width, channels out / groups, channels in)");
  has(error({1, 8, 8, 4}, {3, 3, 4, 4}, {.groups = 3}),
      "expected a filter whose output channels divide into 3 groups, got 4");
  has(error({1, 8, 8, 4}, {3, 3, 4, 4}, {.strides = {1, 0}}),
      "expected strides of two positive numbers (height, width), got {1, 0}");
  has(error({1, 8, 8, 4}, {3, 3, 4, 4}, {.output_size = Extent(0, 8)}),
      "expected output_size of two positive numbers (height, width), got {0, 8}");
  has(error({1, 1, 8, 4}, {3, 3, 4, 4}, {.padding = Padding::explicit_({2, 1, 0, 0})}),
      "expected padding smaller than the output, got 3 for a size of 3 without it");
  has(error({1, 0, 8, 4}, {3, 3, 4, 4}, {.padding = Padding::valid}),
      "expected an input of at least 1 x 1 pixels, got a size of 0. Use Padding::same");
  has(error_of([] { conv2d_transpose(placeholder(f32, {1, 8, 8, 4}), placeholder(f64, {3, 3, 4, 4})); }),
      "expected inputs of one floating type, got f32 and f64. Use cast()");
}

}  // namespace
}  // namespace belfry
