#include "belfry/ops/conv1d.h"

#include "tests/ops/gradient_check.h"
#include "tests/ops/op_test.h"

namespace belfry {
namespace {

const bool conv1d_row = gradient_row("Conv1D", {"Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter"},
                                     [](const Tensors& x) { return conv1d(x[0], x[1], {.stride = 2, .groups = 2}); },
                                     {{{2, 5, 4}, {3, 2, 6}}});

using Conv1dTest = OpTest;

TEST_F(Conv1dTest, SlidesAlongTheLength) {
  // y_t = x_{t-1} + 2 x_t + 3 x_{t+1}, with zeros beyond the ends
  const Tensor x = input(Array::of<float>({1, 4, 1}, {1, 10, 100, 1000}));
  const Tensor w = input(Array::of<float>({3, 1, 1}, {1, 2, 3}));
  EXPECT_EQ(floats(conv1d(x, w)), (std::vector<float>{32, 321, 3210, 2100}));
  EXPECT_EQ(floats(conv1d(x, w, {.padding = Padding::valid})), (std::vector<float>{321, 3210}));
  EXPECT_EQ(floats(conv1d(x, w, {.stride = 2})), (std::vector<float>{321, 2100}));
  // Causal: a window ends with its own element.
  const Padding before = Padding::explicit_({.left = 2});
  EXPECT_EQ(floats(conv1d(x, w, {.padding = before})), (std::vector<float>{3, 32, 321, 3210}));
  EXPECT_EQ(floats(conv1d(x, w, {.dilation = 2, .padding = Padding::explicit_({.left = 4})})),
            (std::vector<float>{3, 30, 302, 3020}));
}

TEST_F(Conv1dTest, ShapesOfBothFormatsAndUnknownLengths) {
  const auto shape = [](const Shape& x, const Shape& filter, const Conv1dOptions& options = {}) {
    return conv1d(placeholder(f32, x), placeholder(f32, filter), options).shape();
  };
  EXPECT_EQ(shape({8, 50, 4}, {5, 4, 16}), Shape({8, 50, 16}));
  EXPECT_EQ(shape({kAny, kAny, 4}, {5, 4, 16}, {.stride = 2}), Shape({kAny, kAny, 16}));
  EXPECT_EQ(shape({8, 4, 50}, {5, 2, 6}, {.stride = 3, .groups = 2, .data_format = DataFormat::channels_first}),
            Shape({8, 6, 17}));
}

TEST_F(Conv1dTest, ChannelsFirstGivesTheSameNumbers) {
  const Tensor w = input(counting({2, 2, 3}));
  const Tensor last = input(Array::of<float>({1, 3, 2}, {1, 2, 3, 4, 5, 6}));
  const Tensor first = input(Array::of<float>({1, 2, 3}, {1, 3, 5, 2, 4, 6}));
  const auto a = floats(conv1d(last, w)), b = floats(conv1d(first, w, {.data_format = DataFormat::channels_first}));
  for (std::size_t t = 0; t < 3; ++t)
    for (std::size_t c = 0; c < 3; ++c) EXPECT_EQ(a[t * 3 + c], b[c * 3 + t]);
}

TEST_F(Conv1dTest, MistakesAreNamed) {
  const Tensor x = placeholder(f32, {2, 5, 4}), image = placeholder(f32, {2, 5, 4, 1}), w = placeholder(f32, {3, 4, 2}),
               wide = placeholder(f32, {3, 5, 2});
  const std::string rank = error_of([&] { conv1d(image, w); });
  EXPECT_TRUE(
      rank.starts_with("[conv1d] expected an input of rank 3 (batch, length, channels), got [2, 5, 4, 1] (at "
                       "conv1d_test.cc:"))
      << rank;
  EXPECT_NE(error_of([&] {
              conv1d(x, image);
            }).find("[conv1d] expected a filter of rank 3 (length, channels in / groups, channels out), got [2, 5"),
            std::string::npos);
  EXPECT_NE(error_of([&] { conv1d(x, wide); }).find("input has 4 channels last"), std::string::npos);
}

}  // namespace
}  // namespace belfry
