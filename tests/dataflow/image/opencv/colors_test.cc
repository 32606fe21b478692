#include "belfry/dataflow/image/opencv/colors.h"

#include <algorithm>
#include <functional>

#include "belfry/dataflow/image/pixels.h"
#include "tests/dataflow/image/augmenting.h"
#include "tests/support/errors.h"

namespace belfry {
namespace {

using Naive = std::function<void(double* pixel, double factor, double grey_mean)>;

double grey_of(const double* pixel) { return 0.299 * pixel[0] + 0.587 * pixel[1] + 0.114 * pixel[2]; }

// Whether the picture is what `naive` makes of it, with the factor that fits best.
double best_distance(const Array& picture, const Array& result, const Interval& factors, const Naive& naive) {
  const double white = picture.dtype() == u8 ? 255 : 1;
  double grey_mean = 0;
  const std::int64_t pixels = picture.elements() / 3;
  for (std::int64_t i = 0; i < pixels; ++i) {
    const double p[3] = {picture.item(3 * i), picture.item(3 * i + 1), picture.item(3 * i + 2)};
    grey_mean += grey_of(p) / static_cast<double>(pixels);
  }
  double best = 1e9;
  for (double factor = factors.low; factor <= factors.high; factor += 0.001) {
    double worst = 0;
    for (std::int64_t i = 0; i < pixels && worst < best; ++i) {
      double p[3] = {picture.item(3 * i), picture.item(3 * i + 1), picture.item(3 * i + 2)};
      naive(p, factor, grey_mean);
      for (int c = 0; c < 3; ++c)
        worst = std::max(worst, std::abs(std::clamp(p[c], 0.0, white) - result.item(3 * i + c)) / white);
    }
    best = std::min(best, worst);
  }
  return best;
}

TEST(ColorJitter, EachPartIsItsFormulaWithAFactorFromItsRange) {
  const std::vector<std::pair<ColorJitterOptions, Naive>> parts{{{.brightness = 0.5},
                                                                 [](double* p, double f, double) {
                                                                   for (int c = 0; c < 3; ++c) p[c] *= f;
                                                                 }},
                                                                {{.contrast = 0.5},
                                                                 [](double* p, double f, double mean) {
                                                                   for (int c = 0; c < 3; ++c)
                                                                     p[c] = f * p[c] + (1 - f) * mean;
                                                                 }},
                                                                {{.saturation = 0.5}, [](double* p, double f, double) {
                                                                   const double grey = grey_of(p);
                                                                   for (int c = 0; c < 3; ++c)
                                                                     p[c] = f * p[c] + (1 - f) * grey;
                                                                 }}};
  for (const DType dtype : {u8, f32}) {
    const Array picture = dtype == u8 ? numbered_picture(6, 7) : as_floats(numbered_picture(6, 7));
    for (const auto& [options, naive] : parts) {
      int changed = 0;
      for (std::uint64_t seed = 0; seed < 5; ++seed) {
        const Array result = augmented(picture, color_jitter(options), seed);
        EXPECT_LE(best_distance(picture, result, {0.5, 1.5}, naive), 0.006) << seed;
        changed += equal(result, picture) ? 0 : 1;  // a factor may be next to 1
      }
      EXPECT_GE(changed, 4);
    }
  }
  EXPECT_TRUE(equal(augmented(numbered_picture(3, 3), color_jitter({})), numbered_picture(3, 3)));
}

TEST(ColorJitter, TurningTheHueMovesRedThroughTheColoursAndLeavesGrey) {
  for (const DType dtype : {u8, f32}) {
    const auto typed = [&](const Array& picture) { return dtype == u8 ? picture : as_floats(picture); };
    const double white = dtype == u8 ? 255 : 1;
    const Array grey = typed(solid_picture(2, 2, {100, 100, 100}));
    bool redder_blue = false, redder_green = false;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      EXPECT_LE(distance(augmented(grey, color_jitter({.hue = 0.5}), seed), grey), 0.005 * white);
      const Array red = augmented(typed(solid_picture(2, 2, {255, 0, 0})), color_jitter({.hue = 0.1}), seed);
      EXPECT_NEAR(red.item(0), white, 0.005 * white);
      EXPECT_LE(std::min(red.item(1), red.item(2)), 0.01 * white);
      EXPECT_LE(std::max(red.item(1), red.item(2)), 0.62 * white);  // a tenth of a turn
      redder_green = redder_green || red.item(1) > 0.2 * white;
      redder_blue = redder_blue || red.item(2) > 0.2 * white;
    }
    EXPECT_TRUE(redder_blue && redder_green);
  }
}

TEST(ColorJitter, GreyPicturesKeepTheirChannelAndFourAreAnError) {
  const Array grey = numbered_picture(4, 4, 1);
  EXPECT_TRUE(equal(augmented(grey, color_jitter({.saturation = 1, .hue = 0.5})), grey));
  EXPECT_EQ(augmented(grey, color_jitter({.brightness = 0.5, .contrast = 0.5})).shape(), grey.shape());
  EXPECT_EQ(error_of([] { augmented(numbered_picture(2, 2, 4), color_jitter({.hue = 0.1})); }),
            "[color_jitter] expected an image of 1 or 3 channels, got [2, 2, 4]. Decode it without its transparency.");
  EXPECT_EQ(error_of([] { color_jitter({.hue = 0.7}); }),
            "[color_jitter] expected hue as a range within 0 to 0.5, got 0.7 to 0.7.");
}

TEST(RandomGamma, IsThePower) {
  const Array picture = Array::of<std::uint8_t>({1, 4, 1}, {0, 64, 128, 255});
  const Array made = augmented(picture, random_gamma(2));
  EXPECT_TRUE(equal(made, Array::of<std::uint8_t>({1, 4, 1}, {0, 16, 64, 255})));
  EXPECT_NEAR(augmented(as_floats(picture), random_gamma(0.5)).item(2), std::sqrt(128 / 255.0), 1e-5);
}

TEST(GaussianNoise, HasTheDeviationInEveryChannel) {
  for (const DType dtype : {u8, f32}) {
    const Array grey = solid_picture(100, 100, {128, 128, 128});
    const Array picture = dtype == u8 ? grey : as_floats(grey);
    const Array noisy = augmented(picture, gaussian_noise(0.05));
    const double white = dtype == u8 ? 255 : 1;
    for (int c = 0; c < 3; ++c) {
      double sum = 0;
      for (int i = 0; i < 10000; ++i) sum += std::pow((noisy.item(3 * i + c) - picture.item()) / white, 2);
      EXPECT_NEAR(std::sqrt(sum / 10000), 0.05, 0.003);
    }
    EXPECT_NEAR(mean_of(noisy) / white, mean_of(picture) / white, 0.002);
    EXPECT_TRUE(equal(augmented(picture, gaussian_noise(0.05)), noisy));
    EXPECT_FALSE(equal(augmented(picture, gaussian_noise(0.05), 1), noisy));
  }
}

TEST(GaussianBlur, SpreadsADotAndLooksNotBeyondACrop) {
  Array dot = Array::zeros(f32, {11, 11, 1});
  dot.set_item(60, 1);
  const Array soft = augmented(dot, gaussian_blur({.sigma = 1}));
  EXPECT_NEAR(soft.item(60), 0.159, 0.01);  // 1 / (2 pi)
  EXPECT_NEAR(mean_of(soft), mean_of(dot), 1e-4);
  const Array picture = numbered_picture(9, 9);
  EXPECT_TRUE(equal(augmented(picture, center_crop(5) | gaussian_blur()),
                    augmented(augmented(picture, center_crop(5)).clone(), Augmentor() | gaussian_blur())));
  EXPECT_EQ(error_of([] { gaussian_blur({.kernel = 4}); }), "[gaussian_blur] expected an odd kernel, or 0, got 4.");
}

TEST(JpegNoise, IsWorseForLowerQuality) {
  for (const int channels : {1, 3}) {
    const Array picture = numbered_picture(32, 32, channels);
    const double good = distance(augmented(picture, jpeg_noise(98)), picture);
    const double bad = distance(augmented(picture, jpeg_noise(5)), picture);
    EXPECT_LT(good, bad);
    EXPECT_EQ(augmented(picture, jpeg_noise({20, 60})).shape(), picture.shape());
  }
  const Array smooth = smooth_picture(32, 32);
  EXPECT_LE(distance(augmented(smooth, jpeg_noise(95)), smooth), 12);  // red stays red
  EXPECT_EQ(error_of([] { augmented(as_floats(smooth_picture(8, 8)), jpeg_noise(50)); }),
            "[jpeg_noise] expected an image of u8, got f32. Put it before to_float() and normalize().");
}

TEST(Colors, MasksAndPointsStayAsTheyAre) {
  expect_only_pixels_change(color_jitter({.brightness = 0.5, .contrast = 0.5, .saturation = 0.5, .hue = 0.2}) |
                            random_gamma({0.5, 2}) | gaussian_noise({0, 0.1}) | gaussian_blur() | jpeg_noise({30, 90}) |
                            cutout() | to_float() | normalize({0}, {1}));
}

}  // namespace
}  // namespace belfry
