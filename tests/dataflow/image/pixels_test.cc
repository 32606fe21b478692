#include "belfry/dataflow/image/pixels.h"

#include "belfry/dataflow/image/geometry.h"
#include "tests/dataflow/image/augmenting.h"
#include "tests/support/errors.h"

namespace belfry {
namespace {

TEST(Normalize, IsTheFormulaForEveryShapeFlipAndCrop) {
  const std::vector<float> means{0.5f, 0.4f, 0.3f, 0.2f}, deviations{0.2f, 0.25f, 0.3f, 0.5f};
  for (int channels = 1; channels <= 4; ++channels)
    for (const int width : {1, 5, 8, 31, 32})
      for (const DType dtype : {u8, f32})
        for (int flips = 0; flips < 4; ++flips) {
          const Array bytes = numbered_picture(6, width + 2, channels);
          const Array picture = dtype == u8 ? bytes : as_floats(bytes);
          const Augmentor geometry = flip_horizontal(flips & 1) | center_crop({3, width}) | flip_vertical(flips >> 1);
          const Augmentor normal =
              normalize({means.begin(), means.begin() + channels}, {deviations.begin(), deviations.begin() + channels});
          const Array result = augmented(picture, geometry | normal), moved = augmented(picture, geometry);
          ASSERT_EQ(result.shape(), (Shape{3, width, channels}));
          ASSERT_EQ(result.dtype(), f32);
          for (std::int64_t i = 0; i < result.elements(); ++i) {
            const auto c = static_cast<std::size_t>(i % channels);
            const double x = moved.item(i) / (dtype == u8 ? 255 : 1);
            ASSERT_NEAR(result.item(i), (x - means[c]) / deviations[c], 2e-6) << i;
          }
        }
}

TEST(Normalize, OneMeanServesAllChannelsAndMistakesAreErrors) {
  EXPECT_NEAR(augmented(solid_picture(2, 2, {255, 255, 0}), normalize({0.5}, {0.5})).item(1), 1, 1e-6);
  EXPECT_EQ(error_of([] { augmented(numbered_picture(2, 2, 1), normalize({0, 0, 0}, {1, 1, 1})); }),
            "[normalize] expected an image of 3 channels, as there are means, got [2, 2, 1].");
  EXPECT_EQ(error_of([] { normalize({0, 0}, {1}); }),
            "[normalize] expected as many means as deviations, 1 to 4, got 2 and 1.");
  EXPECT_EQ(error_of([] { normalize({0}, {0}); }), "[normalize] expected deviations above 0, got 0.");
}

TEST(ToFloat, BlackIsZeroAndWhiteIsOne) {
  const Array floats = augmented(Array::of<std::uint8_t>({1, 3, 1}, {0, 51, 255}), to_float());
  EXPECT_EQ(floats.item(0), 0);
  EXPECT_NEAR(floats.item(1), 0.2, 1e-7);
  EXPECT_EQ(floats.item(2), 1);
  EXPECT_EQ(augmented(floats, to_float()).raw(), floats.raw());
}

TEST(Cutout, CoversASquareInsideTheImage) {
  const Array white = solid_picture(20, 20, {255});
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const Array cut = augmented(white, cutout({.side = 6, .value = 9}), seed);
    int covered = 0;
    for (std::int64_t i = 0; i < cut.elements(); ++i) covered += cut.item(i) == 9 ? 1 : 0;
    EXPECT_GE(covered, 9);  // in a corner: a quarter
    EXPECT_LE(covered, 36);
  }
  EXPECT_EQ(mean_of(white), 255);  // that of the caller
}

TEST(Cutout, IsTheSameOnMirrorImagesPartsAndFloats) {
  const Array picture = numbered_picture(12, 14);
  const Augmentor part = flip_horizontal(1) | center_crop({9, 8}) | flip_vertical(1), cover = cutout({.side = 3});
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const Array expected = augmented(augmented(picture, part).clone(), Augmentor() | cover, seed);
    // flip_horizontal and flip_vertical draw a number each.
    RandomStream random(seed);
    const ImageTransform first = part.sample(picture.shape(), random);
    RandomStream again(seed);
    const ImageTransform covered = cover.sample(first.result(), again);
    EXPECT_TRUE(equal(covered.image(first.image(picture)), expected));
    EXPECT_TRUE(equal(covered.image(first.image(picture.cast(f32))), expected.cast(f32)));
  }
}

TEST(Pixels, MasksAndPointsStayAsTheyAre) { expect_only_pixels_change(cutout() | to_float() | normalize({0}, {1})); }

}  // namespace
}  // namespace belfry
