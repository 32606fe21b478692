#include "belfry/ops/conv.h"

#include "belfry/graph/gradients.h"
#include "belfry/ops/internal/conv_geometry.h"
#include "tests/ops/conv_testing.h"
#include "tests/ops/gradient_check.h"
#include "tests/ops/op_test.h"

namespace belfry {
namespace {

using X = const Tensors&;

Maker conv(const Conv2dOptions& options) {
  return [options](X x) { return conv2d(x[0], x[1], options); };
}

const std::vector<std::string> kConvOps{"Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter"};
const bool conv_rows[] = {
    gradient_row("Conv2DSame", kConvOps, conv({}),
                 {{{2, 4, 3, 2}, {3, 2, 2, 3}}, {{1, 1, 1, 1}, {3, 3, 1, 1}}, {{0, 4, 3, 2}, {3, 2, 2, 3}}}),
    gradient_row("Conv2DValidStrided", kConvOps, conv({.strides = {2, 1}, .padding = Padding::valid}),
                 {{{1, 5, 4, 2}, {3, 2, 2, 2}}}),
    gradient_row("Conv2DSameStridedDilated", kConvOps, conv({.strides = 2, .dilations = {1, 2}}),
                 {{{1, 4, 5, 1}, {2, 2, 1, 2}}}),
    gradient_row("Conv2DExplicit", kConvOps, conv({.strides = {1, 2}, .padding = Padding::explicit_({2, 0, 1, 3})}),
                 {{{1, 3, 2, 1}, {2, 3, 1, 2}}}),
    gradient_row("Conv2DGroups", kConvOps, conv({.groups = 2}), {{{2, 2, 3, 4}, {2, 2, 2, 2}}}),
    gradient_row("Conv2DGroupsOfBlocks", kConvOps, conv({.padding = Padding::valid, .groups = 2}),
                 {{{1, 2, 2, 16}, {2, 1, 8, 16}}}),
    gradient_row("Conv2DDepthwiseOneEach", kConvOps, conv({.strides = 2, .groups = 3}), {{{2, 3, 4, 3}, {3, 3, 1, 3}}}),
    gradient_row("Conv2DDepthwiseDilated", kConvOps, conv({.dilations = 2, .groups = 3}),
                 {{{1, 4, 3, 3}, {2, 3, 1, 3}}}),
    gradient_row("Conv2DDepthwiseMultiplied", kConvOps, conv({.strides = {1, 2}, .groups = 2}),
                 {{{2, 3, 3, 2}, {2, 2, 1, 6}}}),
    gradient_row("Conv2DDepthwise", kConvOps, conv({.groups = 3, .data_format = DataFormat::channels_first}),
                 {{{1, 3, 2, 3}, {2, 2, 1, 6}}}),
    gradient_row("Conv2DChannelsFirst", kConvOps, conv({.strides = 2, .data_format = DataFormat::nchw}),
                 {{{2, 2, 3, 4}, {3, 3, 2, 2}}}),
};

ConvGeometry geometry(const Shape& x, const Shape& filter, const Conv2dOptions& options) {
  Attributes attributes{{"dilations", to_ints(options.dilations)}, {"groups", options.groups}};
  set_window_attributes(attributes, options.strides, options.padding, options.data_format);
  return conv_geometry(x, filter, attributes);
}

// The definition, one output at a time: y(n, o, i, j) = sum over taps and channels of the group.
Array naive(const Array& x, const Array& filter, const Conv2dOptions& options) {
  const ConvGeometry g = geometry(x.shape(), filter.shape(), options);
  const bool last = options.data_format == DataFormat::nhwc;
  const auto at = [&](const Shape& shape, std::int64_t n, std::int64_t c, std::int64_t i, std::int64_t j) {
    return last ? ((n * shape[1] + i) * shape[2] + j) * shape[3] + c
                : ((n * shape[1] + c) * shape[2] + i) * shape[3] + j;
  };
  Array y(f64, g.output_shape());
  const std::int64_t per_in = filter.shape()[2], per_out = g.o / g.groups;
  for (std::int64_t n = 0; n < g.n; ++n)
    for (std::int64_t o = 0; o < g.o; ++o)
      for (std::int64_t i = 0; i < g.oh; ++i)
        for (std::int64_t j = 0; j < g.ow; ++j) {
          double sum = 0;
          for (std::int64_t ky = 0; ky < g.kh; ++ky)
            for (std::int64_t kx = 0; kx < g.kw; ++kx)
              for (std::int64_t c = 0; c < per_in; ++c) {
                const std::int64_t row = i * options.strides.height + ky * options.dilations.height - g.pads.top;
                const std::int64_t column = j * options.strides.width + kx * options.dilations.width - g.pads.left;
                if (row < 0 || row >= g.h || column < 0 || column >= g.w) continue;
                sum += x.item(at(x.shape(), n, o / per_out * per_in + c, row, column)) *
                       filter.item(((ky * g.kw + kx) * per_in + c) * g.o + o);
              }
          y.set_item(at(y.shape(), n, o, i, j), sum);
        }
  return y;
}

class ConvTest : public OpTest {
 protected:
  // The shape of a convolution of inputs of these shapes.
  Shape shape(const Shape& x, const Shape& filter, const Conv2dOptions& options = {}) {
    return conv2d(placeholder(f32, x), placeholder(f32, filter), options).shape();
  }
  Array convolve(const Array& x, const Array& filter, const Conv2dOptions& options) {
    const Tensor a = placeholder(x.dtype(), x.shape()), b = placeholder(filter.dtype(), filter.shape());
    return run(conv2d(a, b, options), {{a, x}, {b, filter}});
  }
  std::string error(const Shape& x, const Shape& filter, const Conv2dOptions& options = {}) {
    return error_of([&] { shape(x, filter, options); });
  }
};

TEST_F(ConvTest, ShapesFollowPaddingStridesAndDilations) {
  EXPECT_EQ(shape({8, 28, 28, 1}, {3, 3, 1, 32}), Shape({8, 28, 28, 32}));
  EXPECT_EQ(shape({8, 7, 8, 1}, {3, 3, 1, 4}, {.strides = 2}), Shape({8, 4, 4, 4}));
  EXPECT_EQ(shape({8, 7, 8, 1}, {3, 3, 1, 4}, {.strides = {2, 3}, .padding = Padding::valid}), Shape({8, 3, 2, 4}));
  EXPECT_EQ(shape({8, 7, 8, 1}, {3, 3, 1, 4}, {.dilations = 2, .padding = Padding::valid}), Shape({8, 3, 4, 4}));
  EXPECT_EQ(shape({8, 7, 8, 1}, {3, 3, 1, 4}, {.padding = Padding::explicit_({1, 2, 0, 3})}), Shape({8, 8, 9, 4}));
  EXPECT_EQ(shape({8, 6, 7, 8}, {3, 3, 2, 9}, {.groups = 3, .data_format = DataFormat::nchw}), Shape({8, 9, 7, 8}));
}

TEST_F(ConvTest, UnknownDimensionsStayUnknownAndNothingElse) {
  EXPECT_EQ(shape({kAny, 28, 28, 1}, {3, 3, 1, 32}), Shape({kAny, 28, 28, 32}));
  EXPECT_EQ(shape({kAny, kAny, 28, 1}, {3, 3, 1, 32}, {.padding = Padding::valid}), Shape({kAny, kAny, 26, 32}));
  EXPECT_EQ(shape({2, 9, 9, kAny}, {kAny, 3, 1, kAny}, {.strides = 2}), Shape({2, 5, 5, kAny}));
  EXPECT_EQ(shape({2, 9, 9, kAny}, {kAny, 3, 1, 4}, {.padding = Padding::valid}), Shape({2, kAny, 7, 4}));
}

TEST_F(ConvTest, GradientsHaveTheShapesOfTheInputs) {
  const Tensor x = placeholder(f32, {kAny, kAny, 8, 3}), filter = placeholder(f32, {3, 3, 3, 5});
  const Tensors g = gradients({conv2d(x, filter, {.strides = 2})}, {x, filter});
  EXPECT_EQ(g[0].shape(), x.shape());
  EXPECT_EQ(g[1].shape(), filter.shape());
}

TEST_F(ConvTest, SamePaddingPutsTheOddPixelAtTheEnd) {
  const ConvGeometry g = geometry({1, 5, 5, 1}, {2, 4, 1, 1}, {.strides = {1, 2}});
  EXPECT_EQ(g.pads, (Pads{0, 1, 1, 2}));
  EXPECT_EQ(g.oh, 5);
  EXPECT_EQ(g.ow, 3);
}

TEST_F(ConvTest, CountsTheTapsThatLieOnTheImage) {
  const Array y = convolve(Array::full(f32, {1, 3, 3, 1}, 1), Array::full(f32, {3, 3, 1, 1}, 1), {});
  EXPECT_TRUE(equal(y, Array::of<float>({1, 3, 3, 1}, {4, 6, 4, 6, 9, 6, 4, 6, 4})));
}

TEST_F(ConvTest, AgreesWithTheDefinition) {
  struct Case {
    Shape x, filter;
    Conv2dOptions options;
  };
  const Case cases[] = {
      {{2, 6, 5, 3}, {3, 3, 3, 4}, {}},
      {{2, 6, 5, 3}, {3, 2, 3, 4}, {.strides = {2, 3}}},
      {{2, 7, 9, 4}, {3, 3, 2, 6}, {.strides = 2, .dilations = {2, 1}, .groups = 2}},
      {{3, 7, 9, 2}, {1, 1, 2, 5}, {.strides = 2, .padding = Padding::valid}},
      {{2, 4, 6, 5},
       {3, 3, 1, 8},
       {.padding = Padding::explicit_({2, 1, 0, 3}), .groups = 4, .data_format = DataFormat::nchw}},
      {{1, 3, 5, 6}, {4, 2, 3, 2}, {.data_format = DataFormat::nchw}},
      {{2, 6, 5, 32}, {3, 3, 8, 32}, {.strides = {1, 2}, .groups = 4}},
      {{2, 6, 5, 20}, {3, 3, 10, 20}, {.groups = 2}},
      {{2, 6, 5, 20}, {3, 3, 1, 20}, {.strides = 2, .groups = 20}},
      {{2, 6, 5, 20}, {3, 3, 1, 40}, {.dilations = 2, .groups = 20}},
  };
  for (const Case& c : cases) {
    const Array x = random_doubles(c.x, 1), filter = random_doubles(c.filter, 2), wanted = naive(x, filter, c.options),
                squares = naive(squared(x), squared(filter), c.options);
    const std::int64_t terms = filter.elements() / c.filter[3];
    for (DType dtype : {f64, f32}) {
      const Array got = convolve(x.cast(dtype), filter.cast(dtype), c.options);
      ASSERT_EQ(got.shape(), wanted.shape());
      for (std::int64_t i = 0; i < got.elements(); ++i)
        ASSERT_NEAR(got.item(i), wanted.item(i), product_bound(terms, squares.item(i), dtype))
            << to_string(c.x) << " element " << i;
    }
  }
}

TEST_F(ConvTest, AnEmptyBatchHasAZeroFilterGradient) {
  const Tensor x = placeholder(f32, {kAny, 4, 4, 2}), filter = constant(counting({3, 3, 2, 3}));
  const Tensor y = conv2d(x, filter);
  const Feeds empty{{x, Array(f32, {0, 4, 4, 2})}};
  EXPECT_EQ(run(y, empty).shape(), Shape({0, 4, 4, 3}));
  EXPECT_EQ(floats(gradients({y}, {filter})[0], empty), std::vector<float>(54, 0.f));
}

TEST_F(ConvTest, AChannelMismatchSaysWhoHasHowMany) {
  const Tensor x = placeholder(f32, {kAny, 32, 32, 3}, "image"), w = placeholder(f32, {3, 3, 16, 32}, "block2/conv1/W");
  const std::string text = error_of([&] { conv2d(x, w, {}, "block2/conv1"); });
  EXPECT_NE(text.find("[Conv2D 'block2/conv1'] input has 3 channels last ([?, 32, 32, 3]), but the filter [3, 3, 16, "
                      "32] expects 16. Give the filter the input's channels, or check the data_format"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("'block2/conv1/W' f32 [3, 3, 16, 32]"), std::string::npos) << text;
  EXPECT_NE(text.find("(made at conv_test.cc:"), std::string::npos) << text;
}

TEST_F(ConvTest, MistakesAreNamed) {
  const auto has = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  has(error({1, 8, 8, 4}, {3, 3, 4, 4}, {.groups = 2}),
      "input has 4 channels last ([1, 8, 8, 4]), but the filter [3, 3, 4, 4] expects 8 (4 in each of 2 groups)");
  has(error({1, 4, 8, 8}, {3, 3, 3, 4}, {.data_format = DataFormat::nchw}), "input has 4 channels first");
  has(error({1, 8, 8, 4}, {3, 3, 2, 3}, {.groups = 2}),
      "expected a filter whose output channels divide into 2 groups, got 3 ([3, 3, 2, 3]). Use a multiple of the "
      "groups");
  has(error({8, 8, 4}, {3, 3, 4, 4}),
      "expected an input of rank 4 (NHWC), got [8, 8, 4]. Use expand_dims() or reshape()");
  has(error({1, 8, 8, 4}, {3, 4, 4}), "expected a filter of rank 4");
  has(error({1, 2, 8, 4}, {3, 3, 4, 4}, {.padding = Padding::valid}),
      "expected an input at least as high as the window's reach of 3, got 2");
  has(error({1, 8, 4, 4}, {3, 3, 4, 4}, {.dilations = 2, .padding = Padding::valid}),
      "expected an input at least as wide as the window's reach of 5, got 4");
  has(error({1, 8, 8, 4}, {3, 3, 4, 4}, {.strides = {1, 0}}),
      "expected strides of two positive numbers (height, width), got {1, 0}");
  has(error({1, 8, 8, 4}, {3, 3, 4, 4}, {.padding = Padding::explicit_({-1, 0, 0, 0})}),
      "expected pads of four numbers from 0 up");
  has(error({1, 8, 8, 4}, {3, 3, 4, 4}, {.groups = 0}), "expected 1 group or more, got 0");
  has(error_of([] { conv2d(placeholder(f32, {1, 8, 8, 4}), placeholder(f64, {3, 3, 4, 4})); }),
      "expected inputs of one floating type, got f32 and f64. Use cast()");
}

}  // namespace
}  // namespace belfry
