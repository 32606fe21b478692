// What tests of augmentors share.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "belfry/dataflow/image/augmentor.h"
#include "tests/dataflow/image/pictures.h"

namespace belfry {

inline Array augmented(const Array& image, const Augmentor& augmentor, std::uint64_t seed = 0) {
  RandomStream random(seed);
  return augment(image, augmentor, random);
}

// The part of a picture, the slow way.
inline Array part_of(const Array& picture, int y0, int x0, int height, int width) {
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

// A bright dot on black, the same in a mask, and its place as a point.
inline void expect_all_move_together(const std::vector<Augmentor>& augmentors) {
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

// For an augmentor that ends in f32: masks, points and the picture that was given stay as they are.
inline void expect_only_pixels_change(const Augmentor& augmentor) {
  const Array picture = numbered_picture(16, 16), before = picture.clone();
  RandomStream random(3);
  const ImageTransform transform = augmentor.sample(picture.shape(), random);
  EXPECT_TRUE(equal(transform.mask(picture), picture));
  const Array points = Array::of<float>({1, 2}, {3, 4});
  EXPECT_TRUE(equal(transform.points(points), points));
  EXPECT_EQ(transform.image(picture).dtype(), f32);
  EXPECT_TRUE(equal(picture, before));
}

}  // namespace belfry
