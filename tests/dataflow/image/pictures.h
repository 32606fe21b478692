// Pictures for tests, and pixels of arrays.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "belfry/array/array.h"

namespace belfry {

// u8 [height, width, channels]; each pixel's values tell its place.
inline Array numbered_picture(int height, int width, int channels = 3) {
  Array picture(u8, {height, width, channels});
  const std::span<std::uint8_t> values = picture.values<std::uint8_t>();
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::uint8_t>(i * 7 % 251);
  return picture;
}

// Smooth, so that JPEG keeps it: red grows to the right, green downwards.
inline Array smooth_picture(int height, int width) {
  Array picture(u8, {height, width, 3});
  auto* value = picture.values<std::uint8_t>().data();
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      *value++ = static_cast<std::uint8_t>(255 * x / width);
      *value++ = static_cast<std::uint8_t>(255 * y / height);
      *value++ = 100;
    }
  return picture;
}

inline Array solid_picture(int height, int width, const std::vector<std::uint8_t>& colour) {
  Array picture(u8, {height, width, static_cast<std::int64_t>(colour.size())});
  const std::span<std::uint8_t> values = picture.values<std::uint8_t>();
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = colour[i % colour.size()];
  return picture;
}

inline std::int64_t place_of(const Array& picture, std::int64_t y, std::int64_t x, std::int64_t channel = 0) {
  const std::int64_t channels = picture.shape().rank() == 3 ? picture.shape()[2] : 1;
  return (y * picture.shape()[1] + x) * channels + channel;
}

inline double pixel(const Array& picture, std::int64_t y, std::int64_t x, std::int64_t channel = 0) {
  return picture.item(place_of(picture, y, x, channel));
}

// The largest difference of two elements.
inline double distance(const Array& a, const Array& b) {
  EXPECT_EQ(a.shape(), b.shape());
  double largest = 0;
  for (std::int64_t i = 0; i < a.elements(); ++i) largest = std::max(largest, std::abs(a.item(i) - b.item(i)));
  return largest;
}

// The picture with values in [0, 1].
inline Array as_floats(const Array& picture) {
  Array made = picture.cast(f32);
  for (float& value : made.values<float>()) value /= 255;
  return made;
}

inline double mean_of(const Array& array) {
  double sum = 0;
  for (std::int64_t i = 0; i < array.elements(); ++i) sum += array.item(i);
  return sum / static_cast<double>(array.elements());
}

}  // namespace belfry
