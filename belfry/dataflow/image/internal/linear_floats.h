// Linear interpolation of f32: w0 * a + w1 * b, across and then down.
#pragma once

#include <immintrin.h>

#include <algorithm>
#include <vector>

#include "belfry/dataflow/image/internal/linear_places.h"

namespace belfry {

template <int channels>
class FloatRows {
 public:
  using Value = float;
  using Sum = float;
  static constexpr int slack = 4;

  FloatRows(int from, int to) {
    for (const Place& place : places(from, to)) {
      const int at = std::clamp(place.at, 0, from - 1);
      const bool last = at == from - 1;  // has no other one to be mixed with
      at_.push_back(at * channels);
      after_.insert(after_.end(), lanes, place.at == at && !last ? place.after : 0);
      inner_ += last ? 0 : 1;
      whole_ += (at + 1) * channels + lanes <= from * channels ? 1 : 0;
    }
  }

  void across(const float* row, float* to) const {
    constexpr int pixels = 4 / lanes;
    const auto count = static_cast<int>(at_.size());
    const int* at = at_.data();  // in variables: a vector's store might change what members are
    const float* weights = after_.data();
    const int whole = whole_;
    int i = 0;
    for (; i + pixels <= whole; i += pixels) {
      const auto [first, second] = load(row, at + i);
      const __m128 after = _mm_loadu_ps(weights + i * lanes), before = _mm_sub_ps(_mm_set1_ps(1), after);
      _mm_storeu_ps(to + i * channels, _mm_add_ps(_mm_mul_ps(first, before), _mm_mul_ps(second, after)));
    }
    for (; i < inner_; ++i) {
      const float* from = row + at[i];
      const float after = weights[i * lanes];
      for (int c = 0; c < channels; ++c) to[i * channels + c] = from[c] * (1 - after) + from[channels + c] * after;
    }
    for (; i < count; ++i) std::copy_n(row + at[i], channels, to + i * channels);
  }

  static void down(const float* first, const float* second, float after, float* to, int count) {
    const float before = 1 - after;
    const __m256 w0 = _mm256_set1_ps(before), w1 = _mm256_set1_ps(after);
    int i = 0;
    for (; i + 8 <= count; i += 8)
      _mm256_storeu_ps(to + i, _mm256_add_ps(_mm256_mul_ps(_mm256_loadu_ps(first + i), w0),
                                             _mm256_mul_ps(_mm256_loadu_ps(second + i), w1)));
    for (; i < count; ++i) to[i] = first[i] * before + second[i] * after;
  }

 private:
  static constexpr int lanes = lanes_of(channels);

  struct Pair {
    __m128 first, second;
  };
  // The two pixels of each, of as many as fit.
  static Pair load(const float* row, const int* at) {
    if constexpr (channels == 1) {
      const auto two = [&](int k) { return _mm_castsi128_ps(_mm_loadu_si64(row + at[k])); };
      const __m128 low = _mm_movelh_ps(two(0), two(1)), high = _mm_movelh_ps(two(2), two(3));
      return {_mm_shuffle_ps(low, high, 0b10'00'10'00), _mm_shuffle_ps(low, high, 0b11'01'11'01)};
    } else if constexpr (channels == 2) {
      const __m128 a = _mm_loadu_ps(row + at[0]), b = _mm_loadu_ps(row + at[1]);
      return {_mm_movelh_ps(a, b), _mm_movehl_ps(b, a)};
    }
    return {_mm_loadu_ps(row + at[0]), _mm_loadu_ps(row + at[0] + channels)};
  }

  std::vector<int> at_;
  std::vector<float> after_;  // one for each lane
  int inner_ = 0,
      whole_ = 0;  // how many of the first have both pixels; and how many have all the values that a vector reads
};

}  // namespace belfry
