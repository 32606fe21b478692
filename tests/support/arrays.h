// Arrays for tests of file formats: one of every type, in every awkward shape.
#pragma once

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <string>

#include "belfry/array/array.h"

namespace belfry::testing_support {

using Arrays = std::map<std::string, Array>;

// Names sort differently from sizes, and lengths are odd, so that wrong offsets or alignments show.
inline Arrays one_of_each() {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  return {
      {"a/u8", Array::of<std::uint8_t>({3}, {0, 127, 255})},
      {"b/bool", Array::of<bool>({5}, {true, false, true, true, false})},
      {"c/f32", Array::of<float>({2, 3}, {1.5f, -0.f, kNan, 1e-45f, 3e38f, -2.f})},
      {"d/i64", Array::of<std::int64_t>({1, 2, 1}, {std::numeric_limits<std::int64_t>::min(), 7})},
      {"e/f64", Array::of<double>({3}, {0.1, -1e300, 5e-324})},
      {"f/i32", Array::of<std::int32_t>({2, 1}, {-2147483647, 42})},
      {"g/scalar", Array(2.5f)},
      {"h/empty", Array(f64, {0})},
      {"i/empty in the middle", Array(f32, {4, 0, 3})},
      {"j/default", Array()},
      {"k/scalar bool", Array(true)},
      {"l/eight axes", Array::full(u8, {1, 2, 1, 1, 2, 1, 1, 1}, 9)},
      {"m/\xc3\xa9 \"quoted\" \\", Array(std::int32_t{7})},
  };
}

inline void expect_same(const Arrays& got, const Arrays& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (const auto& [name, array] : expected) {
    ASSERT_TRUE(got.contains(name)) << name;
    EXPECT_TRUE(equal(got.at(name), array)) << name << ": " << to_string(got.at(name)) << ", not " << to_string(array);
  }
}

// Touches every element, so that a sanitizer sees an array that points outside of its memory.
inline double sum_of_all(const Arrays& arrays) {
  double sum = 0;
  for (const auto& [name, array] : arrays)
    for (std::int64_t i = 0; i < array.elements(); ++i) sum += array.item(i);
  return sum;
}

}  // namespace belfry::testing_support
