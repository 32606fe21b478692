#include "belfry/dataflow/image/geometry.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "tests/dataflow/image/pictures.h"
#include "tests/support/errors.h"

namespace belfry {
namespace {

Array augmented(const Array& image, const Augmentor& augmentor, std::uint64_t seed = 0) {
  RandomStream random(seed);
  return augment(image, augmentor, random);
}

// The part of a picture, the slow way.
Array part_of(const Array& picture, int y0, int x0, int height, int width) {
  Array part(picture.dtype(), {height, width, picture.shape()[2]});
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      for (int c = 0; c < picture.shape()[2]; ++c)
        part.set_item(place_of(part, y, x, c), pixel(picture, y0 + y, x0 + x, c));
  return part;
}

// Pixel (y, x) of the result is at place(y, x) of the picture.
template <class Place>
void expect_pixels(const Array& result, const Array& picture, Place place) {
  for (std::int64_t y = 0; y < result.shape()[0]; ++y)
    for (std::int64_t x = 0; x < result.shape()[1]; ++x)
      for (std::int64_t c = 0; c < result.shape()[2]; ++c) {
        const auto [from_y, from_x] = place(y, x);
        ASSERT_EQ(pixel(result, y, x, c), pixel(picture, from_y, from_x, c)) << y << " " << x << " " << c;
      }
}

using At = std::pair<std::int64_t, std::int64_t>;

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

TEST(Rotate, QuarterTurnsAreExact) {
  const Array picture = numbered_picture(5, 5);
  expect_pixels(augmented(picture, rotate(90)), picture, [](auto y, auto x) { return At{x, 4 - y}; });
  expect_pixels(augmented(picture, rotate(180)), picture, [](auto y, auto x) { return At{4 - y, 4 - x}; });
  expect_pixels(augmented(picture, rotate(-90)), picture, [](auto y, auto x) { return At{4 - x, y}; });
  EXPECT_TRUE(equal(augmented(picture, rotate(0)), picture));
  const Array even = numbered_picture(6, 6, 1).cast(f32);
  expect_pixels(augmented(even, rotate(90)), even, [](auto y, auto x) { return At{x, 5 - y}; });
}

TEST(Affine, TheIdentityChangesNothing) {
  for (const Interpolation interpolation : {Interpolation::nearest, Interpolation::linear, Interpolation::area,
                                            Interpolation::cubic, Interpolation::lanczos}) {
    const Array picture = numbered_picture(6, 9);
    EXPECT_TRUE(equal(augmented(picture, affine({.interpolation = interpolation})), picture));
  }
}

TEST(Affine, ScalesAboutTheMiddleAndFillsTheRest) {
  const Array white = solid_picture(9, 9, {255});
  const Array small = augmented(white, affine({.scale = 0.5, .border = {.value = 7}}));
  EXPECT_EQ(pixel(small, 4, 4), 255);
  EXPECT_EQ(pixel(small, 0, 0), 7);
  EXPECT_EQ(pixel(small, 8, 4), 7);
  EXPECT_EQ(error_of([] { affine({.scale = {2, 1}}); }),
            "[affine] expected the scale as a range within 0.001 to 1000, got 2 to 1.");
}

TEST(Resize, KeepsWhatIsUniformAndHasTheSizeAskedFor) {
  for (const Interpolation interpolation : {Interpolation::nearest, Interpolation::linear, Interpolation::area,
                                            Interpolation::cubic, Interpolation::lanczos})
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

TEST(Resize, AreaIsTheMeanAndNearestTakesPixels) {
  const Array picture = Array::of<std::uint8_t>({2, 4, 1}, {0, 4, 10, 20, 8, 12, 30, 40});
  EXPECT_TRUE(
      equal(augmented(picture, resize({1, 2}, Interpolation::area)), Array::of<std::uint8_t>({1, 2, 1}, {6, 25})));
  expect_pixels(augmented(picture, resize({4, 8}, Interpolation::nearest)), picture,
                [](auto y, auto x) { return At{y / 2, x / 2}; });
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

// A bright dot on black, the same in a mask, and its place as a point.
TEST(Geometry, ImageMaskAndPointsStayTogether) {
  const std::vector<Augmentor> augmentors{
      resize({50, 90}),
      resize_shortest(33, Interpolation::area),
      center_crop({60, 60}),
      random_crop(70, {.padding = 10}),
      random_resized_crop({64, 48}, {.scale = {0.6, 1}}),
      flip_horizontal(1),
      flip_vertical(1),
      rotate({-30, 30}),
      affine({.degrees = {-20, 20}, .translate_x = 0.1, .translate_y = 0.1, .scale = {0.8, 1.2}, .shear = {-10, 10}}),
      flip_horizontal() | rotate({-10, 10}) | random_crop(64) | flip_vertical() | resize(100),
      random_choice({flip_vertical(1), rotate(90)}) | random_apply(0.5, resize(40)),
  };
  const int dot_y = 33, dot_x = 45;
  Array image = Array::zeros(u8, {80, 80, 3}), mask = Array::zeros(i32, {80, 80});
  for (int y = dot_y - 1; y <= dot_y + 1; ++y)
    for (int x = dot_x - 1; x <= dot_x + 1; ++x) {
      for (int c = 0; c < 3; ++c) image.set_item(place_of(image, y, x, c), 255);
      mask.set_item(place_of(mask, y, x), 1000);
    }
  const Array points = Array::of<float>({2, 2}, {dot_x, dot_y, 0, 0});
  const auto middle_of = [](const Array& picture) {
    double sum = 0, sum_x = 0, sum_y = 0;
    for (std::int64_t y = 0; y < picture.shape()[0]; ++y)
      for (std::int64_t x = 0; x < picture.shape()[1]; ++x) {
        const double value = pixel(picture, y, x);
        sum += value, sum_x += value * static_cast<double>(x), sum_y += value * static_cast<double>(y);
      }
    EXPECT_GT(sum, 0);
    return std::pair(sum_x / sum, sum_y / sum);
  };
  for (std::size_t which = 0; which < augmentors.size(); ++which)
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
      SCOPED_TRACE(fmt::format("augmentor {}, seed {}", which, seed));
      RandomStream random(seed);
      const ImageTransform transform = augmentors[which].sample(image.shape(), random);
      const Array new_image = transform.image(image), new_mask = transform.mask(mask), moved = transform.points(points);
      EXPECT_EQ(new_image.shape(), transform.result());
      EXPECT_EQ(new_mask.shape(), (Shape{transform.result()[0], transform.result()[1]}));
      EXPECT_EQ(new_mask.dtype(), i32);
      for (const double value : new_mask.values<std::int32_t>()) EXPECT_TRUE(value == 0 || value == 1000);
      for (const Array& picture : {new_image, new_mask}) {
        const auto [x, y] = middle_of(picture);
        EXPECT_NEAR(moved.item(0), x, 0.8);
        EXPECT_NEAR(moved.item(1), y, 0.8);
      }
    }
}

TEST(Geometry, OutsideOfAMaskIsItsOwnValue) {
  RandomStream random(0);
  const ImageTransform transform = rotate(45, {.border = {.value = 9, .mask_value = 255}}).sample({9, 9, 1}, random);
  EXPECT_EQ(pixel(transform.image(solid_picture(9, 9, {50})), 0, 0), 9);
  EXPECT_EQ(pixel(transform.mask(solid_picture(9, 9, {50})), 0, 0), 255);
}

}  // namespace
}  // namespace belfry
