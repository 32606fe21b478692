#include "belfry/ops/resize.h"

#include "belfry/ops/array_ops.h"
#include "belfry/ops/pointwise.h"
#include "tests/ops/gradient_check.h"
#include "tests/ops/op_test.h"

namespace belfry {
namespace {

using X = const Tensors&;
using Floats = std::vector<float>;

const bool resize_rows[] = {
    gradient_row("ResizeNearest", {"ResizeNearest", "ResizeNearestGrad"},
                 [](X x) { return resize_nearest(square(x[0]), {.size = {5, 2}}); },
                 {{{1, 3, 4, 2}}, {{2, 1, 2, 1}}, {{0, 2, 2, 1}}}),
    gradient_row("ResizeNearestByScale", {"ResizeNearest"},
                 [](X x) {
                   return resize_nearest(
                       square(x[0]), {.scale = {2, 3}, .half_pixel_centers = true, .data_format = DataFormat::nchw});
                 },
                 {{{1, 2, 3, 2}}, {{1, 0, 2, 2}}}),
    gradient_row("ResizeBilinear", {"ResizeBilinear", "ResizeBilinearGrad"},
                 [](X x) { return resize_bilinear(square(x[0]), {.size = {5, 2}}); }, {{{1, 3, 4, 2}}, {{2, 1, 2, 1}}}),
    gradient_row("ResizeBilinearAligned", {"ResizeBilinear", "ResizeBilinearGrad"},
                 [](X x) {
                   return resize_bilinear(square(x[0]),
                                          {.size = {1, 5}, .align_corners = true, .data_format = DataFormat::nchw});
                 },
                 {{{1, 2, 3, 2}}}),
    gradient_row("ResizeBilinearManyPixelsFromFew", {"ResizeBilinear", "ResizeBilinearGrad"},
                 [](X x) { return resize_bilinear(square(x[0]), {.scale = {8, 7}, .half_pixel_centers = true}); },
                 {{{1, 2, 2, 3}}}),
    gradient_row("ResizeBilinearHalfPixel", {"ResizeBilinear", "ResizeBilinearGrad"},
                 [](X x) { return resize_bilinear(square(x[0]), {.scale = 2, .half_pixel_centers = true}); },
                 {{{1, 2, 3, 1}}, {{1, 2, 2, 0}}}),
};

class ResizeTest : public OpTest {
 protected:
  // The same in both formats, to the digits of f32.
  void expect(Tensor (*resize)(const Operand&, const ResizeOptions&, std::string_view), ResizeOptions options,
              const Array& image, const Floats& wanted) {
    const Tensor nchw = input(image);
    options.data_format = DataFormat::nchw;
    const Floats first = floats(resize(nchw, options, ""));
    options.data_format = DataFormat::nhwc;
    const Floats last = floats(transpose(resize(transpose(nchw, {0, 2, 3, 1}), options, ""), {0, 3, 1, 2}));
    ASSERT_EQ(first.size(), wanted.size());
    EXPECT_EQ(first, last);
    for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(first[i], wanted[i], 1e-5f) << i;
  }

  static Array squares() {  // torch.arange(12.).reshape(1, 1, 3, 4) ** 2 / 10
    Array x(f32, {1, 1, 3, 4});
    for (std::int64_t i = 0; i < 12; ++i) x.set_item(i, static_cast<double>(i * i) / 10);
    return x;
  }
};

// /usr/bin/python3 -c "import torch, torch.nn.functional as F; x = torch.arange(12.).reshape(1, 1, 3, 4) ** 2 / 10;
// print(F.interpolate(x, size=(5, 3), mode='bilinear', align_corners=False).flatten().tolist())", and so on
TEST_F(ResizeTest, ValuesAreThoseOfPyTorch) {
  expect(resize_bilinear, {.size = {5, 3}, .half_pixel_centers = true}, squares(),
         {0.0166667f, 0.25f, 0.8166667f, 0.71f, 1.37f, 2.3633335f, 1.75f, 3.05f, 4.6833339f, 4.71f, 6.65f, 8.9233341f,
          6.6833334f, 9.05f, 11.75f});
  expect(resize_bilinear, {.size = {5, 3}, .align_corners = true}, squares(),
         {0, 0.25f, 0.9f, 0.8f, 1.65f, 2.9f, 1.6f, 3.05f, 4.9f, 4, 6.05f, 8.5f, 6.4f, 9.05f, 12.1f});
  expect(resize_nearest, {.size = {5, 3}}, squares(),  // mode='nearest'
         {0, 0.1f, 0.4f, 0, 0.1f, 0.4f, 1.6f, 2.5f, 3.6f, 1.6f, 2.5f, 3.6f, 6.4f, 8.1f, 10});
  expect(resize_nearest, {.size = {1, 7}, .half_pixel_centers = true}, squares(),  // the middle row of 'nearest-exact'
         {1.6f, 1.6f, 2.5f, 3.6f, 3.6f, 4.9f, 4.9f});
}

// By hand, as TensorFlow 1 does without options: pixel i is at i * in / out.
TEST_F(ResizeTest, WithoutOptionsPlacesAreThoseOfTensorFlowOne) {
  const Array row = Array::of<float>({1, 1, 1, 3}, {0, 10, 40});
  expect(resize_bilinear, {.scale = {1, 2}}, row, {0, 5, 10, 25, 40, 40});
  expect(resize_nearest, {.scale = {1, 2}}, row, {0, 0, 10, 10, 40, 40});
  expect(resize_nearest, {.size = {1, 2}, .align_corners = true}, row, {0, 40});
  expect(resize_bilinear, {.size = {2, 1}}, row, {0, 0});
}

TEST_F(ResizeTest, TheSameSizeIsTheSameImage) {
  const Tensor x = input(counting({2, 5, 7, 3}));
  for (const bool aligned : {false, true})
    for (const bool half : {false, true}) {
      if (aligned && half) continue;
      const ResizeOptions same{.size = {5, 7}, .align_corners = aligned, .half_pixel_centers = half};
      EXPECT_EQ(floats(resize_nearest(x, same)), floats(x));
      EXPECT_EQ(floats(resize_bilinear(x, same)), floats(x));
    }
}

TEST_F(ResizeTest, UnknownSizesAreMultipliedWhenFed) {
  const Tensor x = placeholder(f32, {kAny, kAny, 3, 2});
  EXPECT_EQ(resize_nearest(x, {.scale = 2}).shape(), Shape({kAny, kAny, 6, 2}));
  EXPECT_EQ(resize_nearest(x, {.size = {7, 8}}).shape(), Shape({kAny, 7, 8, 2}));
  EXPECT_EQ(run(resize_bilinear(x, {.scale = 2}), {{x, counting({1, 2, 3, 2})}}).shape(), Shape({1, 4, 6, 2}));
}

TEST_F(ResizeTest, MistakesNameWhatIsWrong) {
  const Tensor x = placeholder(f32, {1, 2, 2, 1}, "x");
  const auto expect_error = [](const auto& f, const char* wanted) {
    const std::string text = error_of(f);
    EXPECT_NE(text.find(wanted), std::string::npos) << text;
  };
  expect_error([&] { resize_nearest(x, {.align_corners = true, .half_pixel_centers = true}, "r"); },
               "[ResizeNearest 'r'] expected at most one of .align_corners and .half_pixel_centers, got both");
  expect_error([&] { resize_bilinear(x, {.scale = {0, 1}}); },
               "expected sizes of 0 or more and scales of 1 or more, got 0 and 0");
  expect_error([&] { resize_bilinear(placeholder(f32, {2, 2}), {}); }, "expected images of rank 4, got [2, 2]");
  expect_error([&] { resize_bilinear(placeholder(i32, {1, 2, 2, 1}), {}); },
               "expected images of a floating type, got i32. Use cast()");
  expect_error([&] { resize_nearest(placeholder(f32, {1, 0, 2, 1}), {.size = 2}); },
               "expected images with pixels, got [1, 0, 2, 1]");
}

}  // namespace
}  // namespace belfry
