#include "belfry/dataflow/image/geometry.h"

#include <algorithm>
#include <set>

#include "tests/dataflow/image/augmenting.h"
#include "tests/support/errors.h"

namespace belfry {
namespace {

TEST(Crop, TheMiddleIsCutOutExactly) {
  const Array picture = numbered_picture(7, 10);
  EXPECT_TRUE(equal(augmented(picture, center_crop({3, 4})), part_of(picture, 2, 3, 3, 4)));
  EXPECT_TRUE(equal(augmented(picture.cast(f32), center_crop(7)), part_of(picture, 0, 1, 7, 7).cast(f32)));
  EXPECT_EQ(error_of([&] { augmented(picture, center_crop(8)); }),
            "[center_crop] expected an image of at least 8 x 8 pixels, got [7, 10, 3]. Resize it first.");
}

TEST(Crop, ARandomPartIsAPartAndEveryPlaceIsReached) {
  const Array picture = numbered_picture(4, 5);
  const Augmentor crop = random_crop({3, 3});
  std::set<std::pair<int, int>> places;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const Array part = augmented(picture, crop, seed);
    int found = 0;
    for (int y = 0; y < 2; ++y)
      for (int x = 0; x < 3; ++x)
        if (equal(part, part_of(picture, y, x, 3, 3))) {
          places.insert({y, x});
          ++found;
        }
    EXPECT_EQ(found, 1);
  }
  EXPECT_EQ(places.size(), 6u);
}

TEST(Crop, PaddingIsWhatWasAskedFor) {
  // The crop is the padded picture, so that there is one place for it.
  const Array picture = numbered_picture(4, 4);
  const Array white = augmented(picture, random_crop(8, {.padding = 2, .border = {.value = 255}}));
  EXPECT_TRUE(equal(part_of(white, 2, 2, 4, 4), picture));
  for (int i = 0; i < 8; ++i)
    for (const int edge : {0, 1, 6, 7}) {
      EXPECT_EQ(pixel(white, edge, i, 2), 255);
      EXPECT_EQ(pixel(white, i, edge, 0), 255);
    }
  const auto clamped = [](std::int64_t i) { return std::clamp<std::int64_t>(i - 2, 0, 3); };
  expect_pixels(augmented(picture, random_crop(8, {.padding = 2, .border = {.mode = BorderMode::replicate}})), picture,
                [&](auto y, auto x) { return At{clamped(y), clamped(x)}; });
  const auto mirrored = [](std::int64_t i) { return i < 2 ? 2 - i : i > 5 ? 8 - i : i - 2; };
  expect_pixels(augmented(picture, random_crop(8, {.padding = 2, .border = {.mode = BorderMode::reflect}})), picture,
                [&](auto y, auto x) { return At{mirrored(y), mirrored(x)}; });
}

TEST(Crop, ASmallerPartOfAPaddedPictureIsAPartOfIt) {
  const Array picture = numbered_picture(4, 4);
  for (const BorderMode mode : {BorderMode::constant, BorderMode::replicate, BorderMode::reflect}) {
    const Border border{.mode = mode, .value = 9};
    const Array padded = augmented(picture, random_crop(12, {.padding = 4, .border = border}));
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
      const Array part = augmented(picture, random_crop(3, {.padding = 4, .border = border}), seed);
      bool found = false;
      for (int y = 0; y < 10 && !found; ++y)
        for (int x = 0; x < 10 && !found; ++x) found = equal(part, part_of(padded, y, x, 3, 3));
      EXPECT_TRUE(found) << seed;
    }
  }
}

TEST(Crop, NeverLooksBeyondThePartThatIsLeft) {
  const Array picture = numbered_picture(8, 8);
  const Augmentor pad = random_crop(6, {.padding = 2, .border = {.mode = BorderMode::replicate}});
  const Array whole = augmented(part_of(picture, 3, 3, 2, 2), pad);
  EXPECT_TRUE(equal(augmented(picture, center_crop(2) | pad), whole));
}

TEST(Pad, AddsPixelsOnEachSideAndKeepsThePicture) {
  const Array picture = numbered_picture(3, 4);
  const Array padded = augmented(picture, pad({.top = 1, .bottom = 2, .left = 3, .right = 4, .border = {.value = 9}}));
  ASSERT_EQ(padded.shape(), (Shape{6, 11, 3}));
  EXPECT_TRUE(equal(part_of(padded, 1, 3, 3, 4), picture));
  for (int y = 0; y < 6; ++y)
    for (int x = 0; x < 11; ++x)
      if (y < 1 || y > 3 || x < 3 || x > 6) {
        EXPECT_EQ(pixel(padded, y, x, 1), 9) << y << " " << x;
      }
  EXPECT_TRUE(equal(augmented(picture, pad(2, {.mode = BorderMode::reflect})),
                    augmented(picture, random_crop({7, 8}, {.padding = 2, .border = {.mode = BorderMode::reflect}}))));
  EXPECT_EQ(augmented(picture, pad(0)).raw(), picture.raw());
}

TEST(Pad, ReachesBeyondSmallPictures) {
  // abc -> ... c b | a b c | b a b c b ...
  const Array row = Array::of<float>({1, 3, 1}, {1, 2, 3});
  EXPECT_TRUE(equal(augmented(row, pad({.left = 6, .right = 5, .border = {.mode = BorderMode::reflect}})),
                    Array::of<float>({1, 14, 1}, {3, 2, 1, 2, 3, 2, 1, 2, 3, 2, 1, 2, 3, 2})));
  const Array dot = solid_picture(1, 1, {7});
  for (const BorderMode mode : {BorderMode::replicate, BorderMode::reflect})
    EXPECT_TRUE(equal(augmented(dot, pad(3, {.mode = mode})), solid_picture(7, 7, {7})));
}

TEST(Pad, MasksHaveTheirOwnValueAndPointsMove) {
  RandomStream random(0);
  const ImageTransform transform =
      pad({.top = 2, .left = 5, .border = {.value = 9, .mask_value = 255}}).sample({4, 4, 1}, random);
  EXPECT_EQ(transform.result(), (Shape{6, 9, 1}));
  EXPECT_EQ(pixel(transform.image(solid_picture(4, 4, {50})), 0, 0), 9);
  const Array mask = transform.mask(Array::full(i32, {4, 4}, 50));
  EXPECT_EQ(mask.shape(), (Shape{6, 9}));
  EXPECT_EQ(pixel(mask, 0, 0), 255);
  EXPECT_EQ(pixel(mask, 2, 5), 50);
  EXPECT_TRUE(equal(transform.points(Array::of<float>({1, 2}, {1, 3})), Array::of<float>({1, 2}, {6, 5})));
}

TEST(Pad, ValuesAreRoundedAndCutToTheType) {
  const auto value = [](const Array& picture, double padding) {
    return augmented(picture, pad(1, {.value = padding})).item();
  };
  const Array bytes = solid_picture(1, 1, {1}), floats = bytes.cast(f32);
  EXPECT_EQ(value(bytes, 2.5), 2);
  EXPECT_EQ(value(bytes, 2.6), 3);
  EXPECT_EQ(value(bytes, 300), 255);
  EXPECT_EQ(value(bytes, -1e30), 0);
  EXPECT_EQ(value(floats, -2.5), -2.5);
}

TEST(Pad, MistakesAreErrors) {
  EXPECT_EQ(error_of([] { pad({.left = -1}); }),
            "[pad] expected 0 to 2^20 pixels for left, got -1. A crop makes images smaller.");
  EXPECT_EQ(error_of([] { pad((1 << 20) + 1); }), "[pad] expected 0 to 2^20 pixels for top, got 1048577.");
  EXPECT_EQ(error_of([] { pad(1, {.mode = static_cast<BorderMode>(7)}); }),
            "[pad] expected a BorderMode, got the number 7.");
  EXPECT_EQ(error_of([] { random_crop(1, {.border = {.mode = static_cast<BorderMode>(7)}}); }),
            "[random_crop] expected a BorderMode, got the number 7.");
  EXPECT_EQ(error_of([] { resize(1, static_cast<Interpolation>(9)); }),
            "[resize] expected an Interpolation, got the number 9.");
}

TEST(Flip, MirrorsAndTwiceIsNone) {
  const Array picture = numbered_picture(3, 5);
  expect_pixels(augmented(picture, flip_horizontal(1)), picture, [](auto y, auto x) { return At{y, 4 - x}; });
  expect_pixels(augmented(picture, flip_vertical(1)), picture, [](auto y, auto x) { return At{2 - y, x}; });
  expect_pixels(augmented(picture, flip_vertical(1) | flip_horizontal(1)), picture,
                [](auto y, auto x) { return At{2 - y, 4 - x}; });
  EXPECT_TRUE(equal(augmented(picture, flip_horizontal(1) | flip_horizontal(1)), picture));
  EXPECT_TRUE(equal(augmented(picture, flip_horizontal(0) | flip_vertical(0)), picture));
  expect_pixels(augmented(picture, flip_horizontal(1) | flip_vertical(1) | center_crop({1, 3})), picture,
                [](auto, auto x) { return At{1, 3 - x}; });
}

TEST(Flip, HappensAsOftenAsAskedFor) {
  const Array picture = numbered_picture(2, 2);
  int flipped = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed)
    flipped += equal(augmented(picture, flip_horizontal(0.3), seed), picture) ? 0 : 1;
  EXPECT_NEAR(flipped, 300, 60);
  EXPECT_EQ(error_of([] { flip_horizontal(1.5); }), "[flip_horizontal] expected a probability from 0 to 1, got 1.5.");
}

TEST(Resize, KeepsWhatIsUniformAndHasTheSizeAskedFor) {
  for (const Interpolation interpolation : {Interpolation::nearest, Interpolation::linear})
    for (const DType dtype : {u8, f32}) {
      const Array grey = solid_picture(10, 20, {50, 100, 150}).cast(dtype);
      EXPECT_LE(distance(augmented(grey, resize({5, 7}, interpolation)), solid_picture(5, 7, {50, 100, 150})), 1e-4);
      EXPECT_EQ(augmented(grey, resize(32, interpolation)).shape(), (Shape{32, 32, 3}));
      EXPECT_EQ(augmented(grey, resize_shortest(15, interpolation)).shape(), (Shape{15, 30, 3}));
    }
  EXPECT_EQ(augmented(numbered_picture(100, 30), resize_shortest(20)).shape(), (Shape{66, 20, 3}));
  EXPECT_EQ(error_of([] { resize({0, 3}); }), "[resize] expected a size of at least 1 x 1, got 0 x 3.");
}

TEST(Resize, SizesThatAreTooLargeAreRefused) {
  EXPECT_EQ(error_of([] { resize({3, (1 << 20) + 1}); }),
            "[resize] expected a size of at most 2^20 x 2^20, got 3 x 1048577.");
  RandomStream random(0);
  EXPECT_EQ(error_of([&] { resize_shortest(300'000).sample({1, 100'000, 3}, random); }),
            "[resize_shortest] expected an image that becomes no longer than 2^20 pixels, got [1, 100000, 3], which "
            "would be 300000 x 30000000000. Crop it first, or make it smaller.");
  EXPECT_EQ(resize_shortest(10).sample({1, 100'000, 3}, random).result(), (Shape{10, 1'000'000, 3}));
}

TEST(Resize, NearestTakesPixelsAndLinearMixesThem) {
  const Array picture = Array::of<std::uint8_t>({2, 4, 1}, {0, 4, 10, 20, 8, 12, 30, 40});
  EXPECT_TRUE(equal(augmented(picture, resize({1, 2})), Array::of<std::uint8_t>({1, 2, 1}, {6, 25})));
  EXPECT_TRUE(equal(augmented(picture.cast(f32), resize({1, 8})),
                    Array::of<float>({1, 8, 1}, {4, 5, 7, 11, 17, 22.5f, 27.5f, 30})));
  expect_pixels(augmented(picture, resize({4, 8}, Interpolation::nearest)), picture,
                [](auto y, auto x) { return At{y / 2, x / 2}; });
}

TEST(Resize, NearestIsExactForSidesThatFixedPointCannotReach) {
  const Array row = Array::of<std::uint8_t>({1, 3, 1}, {1, 2, 3});
  const int width = 3 * 40'000;
  const Array wide = augmented(row, resize({1, width}, Interpolation::nearest));
  for (int x = 0; x < width; ++x) ASSERT_EQ(wide.item(x), 1 + x / 40'000) << x;
}

TEST(Resize, APictureWithoutPixelsIsRefused) {
  RandomStream random(0);
  for (const Augmentor& augmentor : {resize(3), pad(1), flip_horizontal(1), center_crop(1)})
    EXPECT_EQ(error_of([&] { augmentor.sample({0, 5, 3}, random); }),
              "[augment] expected the shape of an image, [height, width, channels], got [0, 5, 3].");
}

// This program does not link it.
TEST(Resize, InterpolationsOfAPartThatIsNotLoadedSaySo) {
  const std::string part = "expected a program with Belfry's part 'images' (OpenCV) for Interpolation::",
                    remedy =
                        ", got one without it. Link Belfry::images (where it is missing, install "
                        "libopencv-imgproc-dev, libjpeg-dev, libpng-dev and libwebp-dev and build Belfry again), or "
                        "take Interpolation::linear.";
  EXPECT_EQ(error_of([] { resize(3, Interpolation::area); }), "[resize] " + part + "area" + remedy);
  EXPECT_EQ(error_of([] { resize_shortest(3, Interpolation::cubic); }), "[resize_shortest] " + part + "cubic" + remedy);
  EXPECT_EQ(error_of([] { random_resized_crop(3, {.interpolation = Interpolation::lanczos}); }),
            "[random_resized_crop] " + part + "lanczos" + remedy);
}

TEST(RandomResizedCrop, HasTheSizeAskedForAndSeesPartsOfManyAreas) {
  const Array picture = smooth_picture(64, 64);
  const Augmentor crop = random_resized_crop({16, 24});
  double smallest = 1e9, largest = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Array part = augmented(picture, crop, seed);
    ASSERT_EQ(part.shape(), (Shape{16, 24, 3}));
    const double width = pixel(part, 8, 23) - pixel(part, 8, 0);  // of the part, as red grows to the right
    smallest = std::min(smallest, width);
    largest = std::max(largest, width);
  }
  EXPECT_LT(smallest, 110);
  EXPECT_GT(largest, 200);
}

TEST(RandomResizedCrop, WhereNothingFitsItTakesTheMiddle) {
  const Array picture = numbered_picture(3, 60);
  RandomStream random(0);
  const ImageTransform transform = random_resized_crop({3, 4}, {.scale = 1}).sample(picture.shape(), random);
  // 3 x 4 in the middle of 60 columns: nothing is resized.
  EXPECT_TRUE(equal(transform.image(picture), part_of(picture, 0, 28, 3, 4)));
}

TEST(Geometry, ImageMaskAndPointsStayTogether) {
  expect_all_move_together({
      resize({50, 90}),
      resize_shortest(33),
      resize_shortest(60, Interpolation::nearest),
      pad({.top = 3, .bottom = 7, .left = 20}),
      pad(8, {.value = 0}),
      center_crop({60, 60}),
      random_crop(70, {.padding = 10}),
      random_resized_crop({64, 48}, {.scale = {0.6, 1}}),
      flip_horizontal(1),
      flip_vertical(1),
      flip_horizontal() | pad(4) | random_crop(64) | flip_vertical() | resize(100),
      random_choice({flip_vertical(1), pad(5)}) | random_apply(0.5, resize(40)),
  });
}

TEST(Geometry, ImagesOfFourChannelsAndFloatsMoveAsBytesDo) {
  const Augmentor augmentor = flip_horizontal(1) | pad(3, {.mode = BorderMode::replicate}) | random_crop({9, 8}) |
                              flip_vertical(1) | resize({20, 17}, Interpolation::nearest);
  for (int channels = 1; channels <= 4; ++channels)
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
      const Array bytes = numbered_picture(12, 11, channels);
      EXPECT_TRUE(equal(augmented(bytes.cast(f32), augmentor, seed), augmented(bytes, augmentor, seed).cast(f32)));
    }
}

}  // namespace
}  // namespace belfry
