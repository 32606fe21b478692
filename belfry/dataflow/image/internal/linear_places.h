// Where the pixels of a resized picture lie between those of the old one. For resize_linear.cc alone: the file's
// compiler options are a part of what this means.
#pragma once

#include <cmath>
#include <vector>

namespace belfry {

// Pixel i of the result lies between the pixels `at` and at + 1, a part `after` of the way.
struct Place {
  int at;
  float after;
};

inline std::vector<Place> places(int from, int to) {
  const double scale = 1 / (static_cast<double>(to) / from);
  std::vector<Place> all(static_cast<std::size_t>(to));
  for (int i = 0; i < to; ++i) {
    const auto exact = static_cast<float>((i + 0.5) * scale - 0.5);
    const float at = std::floor(exact);
    all[static_cast<std::size_t>(i)] = {static_cast<int>(at), exact - at};
  }
  return all;
}

// A pixel's values in a vector: three take four places.
constexpr int lanes_of(int channels) { return channels == 3 ? 4 : channels; }

}  // namespace belfry
