#include "belfry/ops/pool.h"

#include <limits>

#include "belfry/graph/gradients.h"
#include "tests/ops/gradient_check.h"
#include "tests/ops/op_test.h"

namespace belfry {
namespace {

using X = const Tensors&;
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

Maker max_pool(const Pool2dOptions& options) {
  return [options](X x) { return max_pool2d(x[0], options); };
}
Maker avg_pool(const Pool2dOptions& options) {
  return [options](X x) { return avg_pool2d(x[0], options); };
}

const std::vector<ShapeList> kImages{{{2, 4, 5, 2}}, {{1, 3, 3, 1}}, {{0, 4, 4, 2}}};
const std::vector<std::string> kMax{"MaxPool", "MaxPoolGrad"}, kAvg{"AvgPool", "AvgPoolGrad"};
const bool pool_rows[] = {
    gradient_row("MaxPool", {"MaxPool", "MaxPoolGrad", "MaxPoolGradGrad"}, max_pool({}), kImages),
    gradient_row("MaxPoolOverlapping", kMax, max_pool({.window = 3, .strides = 2, .padding = Padding::same}), kImages),
    gradient_row("MaxPoolExplicit", kMax,
                 max_pool({.window = {2, 3}, .strides = 1, .padding = Padding::explicit_({1, 0, 2, 1})}), kImages),
    gradient_row("MaxPoolChannelsFirst", kMax, max_pool({.data_format = DataFormat::nchw}), {{{2, 2, 3, 5}}}),
    gradient_row("AvgPool", kAvg, avg_pool({}), kImages),
    gradient_row("AvgPoolOverlapping", kAvg, avg_pool({.window = 3, .strides = 2, .padding = Padding::same}), kImages),
    gradient_row("AvgPoolExplicit", kAvg,
                 avg_pool({.window = {2, 3}, .strides = 1, .padding = Padding::explicit_({1, 0, 2, 1})}), kImages),
    gradient_row("AvgPoolChannelsFirst", kAvg, avg_pool({.data_format = DataFormat::nchw}), {{{2, 2, 3, 5}}}),
};

class PoolTest : public OpTest {};

TEST_F(PoolTest, ShapesFollowWindowStridesAndPadding) {
  const Tensor x = placeholder(f32, {kAny, 28, 27, 3});
  EXPECT_EQ(max_pool2d(x).shape(), Shape({kAny, 14, 13, 3}));
  EXPECT_EQ(avg_pool2d(x, {.window = 3, .strides = 2, .padding = Padding::same}).shape(), Shape({kAny, 14, 14, 3}));
  EXPECT_EQ(max_pool2d(x, {.window = {28, 1}}).shape(), Shape({kAny, 1, 27, 3}));
  EXPECT_EQ(max_pool2d(placeholder(f32, {2, kAny, 9, 4}), {.window = 3}).shape(), Shape({2, kAny, 3, 4}));
  EXPECT_EQ(max_pool2d(placeholder(f32, {2, 4, kAny, 9}), {.window = 3, .data_format = DataFormat::nchw}).shape(),
            Shape({2, 4, kAny, 3}));
}

TEST_F(PoolTest, TakesTheMaximumAndTheMeanOfEachWindow) {
  const Tensor x = constant(counting({1, 4, 4, 1}));
  EXPECT_EQ(floats(max_pool2d(x)), (std::vector<float>{5, 7, 13, 15}));
  EXPECT_EQ(floats(avg_pool2d(x)), (std::vector<float>{2.5, 4.5, 10.5, 12.5}));
}

TEST_F(PoolTest, PaddingIsNeitherAMaximumNorCounted) {
  const Tensor x = constant(Array::of<float>({1, 1, 3, 1}, {-1, -2, -6}));
  const Pool2dOptions options{.window = {1, 2}, .strides = 1, .padding = Padding::explicit_({0, 0, 1, 1})};
  EXPECT_EQ(floats(max_pool2d(x, options)), (std::vector<float>{-1, -1, -2, -6}));
  EXPECT_EQ(floats(avg_pool2d(x, options)), (std::vector<float>{-1, -1.5, -4, -6}));
}

TEST_F(PoolTest, TheFirstOfEqualMaximaGetsTheGradient) {
  const Tensor x = constant(Array::of<float>({1, 2, 4, 1}, {1, 3, 5, 5, 3, 3, 5, 5}));
  const Tensor y = max_pool2d(x);
  EXPECT_EQ(floats(gradients({y}, {x})[0]), (std::vector<float>{0, 1, 1, 0, 0, 0, 0, 0}));
}

TEST_F(PoolTest, WindowsThatShareAMaximumAddUp) {
  const Tensor x = constant(Array::of<float>({1, 1, 3, 1}, {0, 9, 0}));
  const Tensor y = max_pool2d(x, {.window = {1, 2}, .strides = 1});
  EXPECT_EQ(floats(gradients({y}, {x})[0]), (std::vector<float>{0, 2, 0}));
}

TEST_F(PoolTest, NaNIsNotHidden) {
  const Tensor y = max_pool2d(constant(Array::of<float>({1, 2, 2, 1}, {1, kNaN, 3, 2})));
  EXPECT_TRUE(std::isnan(floats(y)[0]));
}

TEST_F(PoolTest, GlobalAverageKeepsImagesAndChannels) {
  const Tensor x = constant(counting({2, 2, 3, 2}));
  EXPECT_EQ(floats(global_avg_pool(x)), (std::vector<float>{5, 6, 17, 18}));
  EXPECT_EQ(floats(global_avg_pool(x, DataFormat::channels_first)), (std::vector<float>{2.5, 8.5, 14.5, 20.5}));
  EXPECT_EQ(global_avg_pool(placeholder(f32, {kAny, kAny, 7, 64})).shape(), Shape({kAny, 64}));
  EXPECT_NE(error_of([] { global_avg_pool(placeholder(f32, {2, 3})); }).find("expected an input of rank 4, got "),
            std::string::npos);
}

TEST_F(PoolTest, MistakesAreNamed) {
  const auto has = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  const Tensor x = placeholder(f32, {1, 4, 4, 1});
  has(error_of([&] { max_pool2d(x, {.window = 5}); }),
      "expected an input at least as high as the window's reach of 5, got 4");
  has(error_of([&] { max_pool2d(x, {.padding = Padding::explicit_({2, 0, 0, 0})}); }),
      "expected padding smaller than the window (2 x 2), got 2, 0, 0, 0 (top, bottom, left, right). Use less padding, "
      "or pad() the input first");
  has(error_of([&] { avg_pool2d(x, {.window = {0, 2}}); }),
      "expected window of two positive numbers (height, width), got {0, 2}");
  has(error_of([&] { max_pool2d(placeholder(i32, {1, 4, 4, 1})); }), "expected inputs of one floating type, got i32");
  has(error_of([&] { max_pool2d(placeholder(f32, {4, 4, 1})); }), "expected an input of rank 4 (NHWC), got [4, 4, 1]");
}

}  // namespace
}  // namespace belfry
