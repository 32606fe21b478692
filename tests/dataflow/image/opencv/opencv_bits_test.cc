// What Belfry does itself has the bits that OpenCV's functions give.
#include <opencv2/imgproc.hpp>
#include <random>

#include "belfry/dataflow/image/codecs/internal/decoded.h"
#include "belfry/dataflow/image/geometry.h"
#include "belfry/dataflow/image/opencv/internal/mats.h"
#include "tests/dataflow/image/pictures.h"

namespace belfry {
namespace {

Array random_picture(DType dtype, int height, int width, int channels) {
  std::mt19937 generator(static_cast<unsigned>(height * 1000 + width * 10 + channels));
  Array picture(dtype, {height, width, channels});
  if (dtype == u8)
    for (std::uint8_t& value : picture.values<std::uint8_t>()) value = static_cast<std::uint8_t>(generator());
  else if (dtype == i32)
    for (std::int32_t& value : picture.values<std::int32_t>()) value = static_cast<std::int32_t>(generator());
  else
    for (float& value : picture.values<float>()) value = std::uniform_real_distribution<float>(-1, 2)(generator);
  return picture;
}

cv::Mat as_mat(const Array& picture) {
  const int depth = picture.dtype() == u8 ? CV_8U : picture.dtype() == i32 ? CV_32S : CV_32F;
  return cv::Mat(static_cast<int>(picture.shape()[0]), static_cast<int>(picture.shape()[1]),
                 CV_MAKETYPE(depth, static_cast<int>(picture.shape()[2])), const_cast<void*>(picture.raw()));
}

// An augmentor without random numbers, applied to an image, or to a mask.
Array of_image(const Array& picture, const Augmentor& augmentor) {
  RandomStream random(0);
  return augment(picture, augmentor, random);
}
Array of_mask(const Array& picture, const Augmentor& augmentor) {
  RandomStream random(0);
  return augmentor.sample(picture.shape(), random).mask(picture);
}

struct Sizes {
  int height, width, new_height, new_width;
};

// Larger and smaller, odd and even, and single pixels.
std::vector<Sizes> many_sizes() {
  std::vector<Sizes> all{{1, 1, 5, 7},       {1, 1, 1, 2},         {1, 9, 1, 4},       {9, 1, 20, 1},
                         {2, 2, 1, 1},       {3, 3, 1, 1},         {5, 7, 1, 1},       {7, 5, 14, 10},
                         {32, 32, 224, 224}, {480, 640, 224, 224}, {224, 224, 32, 32}, {100, 300, 300, 100},
                         {31, 33, 64, 62},   {97, 101, 96, 102},   {64, 48, 65, 47}};
  std::mt19937 generator(1);
  const auto side = [&](unsigned most) { return 1 + static_cast<int>(generator() % most); };
  for (int i = 0; i < 100; ++i) all.push_back({side(70), side(70), side(70), side(70)});
  // OpenCV has other code for exactly half, also in one direction.
  for (int i = 0; i < 30; ++i) {
    const int height = side(40), width = side(40);
    all.push_back({2 * height, 2 * width, height, width});
    all.push_back({2 * height, width, height, side(40)});
  }
  return all;
}

std::string text_of(const Sizes& sizes, DType dtype, int channels) {
  return fmt::format("{} x {} to {} x {}, {}, {} channel(s)", sizes.height, sizes.width, sizes.new_height,
                     sizes.new_width, name_of(dtype), channels);
}

Array resized_by_opencv(const Array& picture, const Sizes& sizes, int flag) {
  cv::Mat made;
  cv::resize(as_mat(picture), made, {sizes.new_width, sizes.new_height}, 0, 0, flag);
  return array_of(made);
}

TEST(OpencvBits, LinearResize) {
  for (const Sizes& sizes : many_sizes())
    for (const DType dtype : {u8, f32})
      for (int channels = 1; channels <= 4; ++channels) {
        const Array picture = random_picture(dtype, sizes.height, sizes.width, channels);
        EXPECT_TRUE(equal(of_image(picture, resize({sizes.new_height, sizes.new_width})),
                          resized_by_opencv(picture, sizes, cv::INTER_LINEAR)))
            << text_of(sizes, dtype, channels);
      }
}

#if CV_VERSION_MAJOR == 4 && CV_VERSION_MINOR < 8  // later ones take another pixel on a tie
TEST(OpencvBits, NearestResizeOfImagesAndMasks) {
  for (const Sizes& sizes : many_sizes())
    for (const DType dtype : {u8, f32, i32})
      for (int channels = 1; channels <= 4; ++channels) {
        const Array picture = random_picture(dtype, sizes.height, sizes.width, channels);
        const Array expected = resized_by_opencv(picture, sizes, cv::INTER_NEAREST_EXACT);
        const ImageSize size(sizes.new_height, sizes.new_width);
        EXPECT_TRUE(equal(of_mask(picture, resize(size)), expected)) << text_of(sizes, dtype, channels);
        if (dtype != i32) {
          EXPECT_TRUE(equal(of_image(picture, resize(size, Interpolation::nearest)), expected));
        }
      }
}
#endif

TEST(OpencvBits, ResizeOfAPartAndOfAMirrorImage) {
  for (const DType dtype : {u8, f32})
    for (int channels = 1; channels <= 4; ++channels) {
      const Array picture = random_picture(dtype, 41, 57, channels);
      cv::Mat made, mirrored;
      cv::resize(as_mat(picture)(cv::Rect(8, 5, 41, 31)), made, {50, 20}, 0, 0, cv::INTER_LINEAR);
      EXPECT_TRUE(equal(of_image(picture, center_crop({31, 41}) | resize({20, 50})), array_of(made)));
      for (int flips = 1; flips < 4; ++flips) {
        cv::flip(as_mat(picture), mirrored, flips == 1 ? 1 : flips == 2 ? 0 : -1);
        cv::resize(mirrored, made, {50, 20}, 0, 0, cv::INTER_LINEAR);
        const Augmentor flip = flip_horizontal(flips & 1) | flip_vertical(flips >> 1);
        EXPECT_TRUE(equal(of_image(picture, flip), array_of(mirrored)));
        EXPECT_TRUE(equal(of_image(picture, flip | resize({20, 50})), array_of(made)));
      }
    }
}

TEST(OpencvBits, GreyOfColours) {
  const Array picture = random_picture(u8, 300, 500, 3);
  Array grey(u8, {300, 500, 1});
  to_grey(picture.values<std::uint8_t>().data(), grey.bytes(), grey.values<std::uint8_t>().data());
  cv::Mat made;
  cv::cvtColor(as_mat(picture), made, cv::COLOR_RGB2GRAY);
  EXPECT_TRUE(equal(grey, array_of(made)));
}

TEST(OpencvBits, BordersOfEveryKindAndWidth) {
  constexpr std::pair<BorderMode, int> modes[] = {{BorderMode::constant, cv::BORDER_CONSTANT},
                                                  {BorderMode::replicate, cv::BORDER_REPLICATE},
                                                  {BorderMode::reflect, cv::BORDER_REFLECT_101}};
  for (const auto& [mode, flag] : modes)
    for (const auto& [height, width] : {std::pair(1, 1), {1, 6}, {5, 1}, {4, 7}, {30, 20}})
      for (const PadOptions& sides : {PadOptions{1, 1, 1, 1}, {0, 3, 2, 0}, {20, 11, 50, 33}})
        for (const DType dtype : {u8, i32, f32})
          for (int channels = 1; channels <= 4; ++channels)
            for (const double value : {0.0, 7.5, 8.5, 300.25, -3.0}) {
              const Array picture = random_picture(dtype, height, width, channels);
              cv::Mat made;
              cv::copyMakeBorder(as_mat(picture), made, sides.top, sides.bottom, sides.left, sides.right, flag,
                                 cv::Scalar::all(value));
              PadOptions options = sides;
              options.border = {.mode = mode, .value = value, .mask_value = value};
              const std::string text = fmt::format("mode {}, {} x {}, {} {} {} {}, {}, {} channel(s), value {}",
                                                   static_cast<int>(mode), height, width, sides.top, sides.bottom,
                                                   sides.left, sides.right, name_of(dtype), channels, value);
              ASSERT_TRUE(equal(of_mask(picture, pad(options)), array_of(made))) << text;
              if (dtype != i32) {
                ASSERT_TRUE(equal(of_image(picture, pad(options)), array_of(made))) << text;
              }
            }
}

}  // namespace
}  // namespace belfry
