// Linear interpolation of u8. Weights are whole numbers of 2048ths:
//
//   across  s = (w0 * a + w1 * b) >> 4, which fits 16 bits
//   down    ((w0 * s0 >> 16) + (w1 * s1 >> 16) + 2) >> 2
#pragma once

#include <immintrin.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "belfry/dataflow/image/internal/linear_places.h"

namespace belfry {

template <int channels>
class ByteRows {
 public:
  using Value = std::uint8_t;
  using Sum = std::int16_t;
  static constexpr int slack = 8;  // values written past the end of a row

  ByteRows(int from, int to) : from_(from) {
    for (const Place& place : places(from, to)) {
      const int at = std::clamp(place.at, 0, from - 1);
      const float after = place.at == at && at < from - 1 ? place.after : 0;
      at_.push_back(at * channels);
      weights_.insert(weights_.end(), lanes, weights_of(after));
    }
    // Those that can be read with all the bytes around them.
    constexpr int read = channels == 3 ? 8 : 2 * channels;
    while (whole_ < to && at_[static_cast<std::size_t>(whole_)] + read <= from * channels) ++whole_;
  }

  void across(const std::uint8_t* row, std::int16_t* to) const {
    constexpr int pixels = 8 / lanes;
    const auto count = static_cast<int>(at_.size());
    const int *at = at_.data(), *weights = weights_.data();  // in variables: a vector's store might change members
    const int whole = whole_;
    int i = 0;
    for (; i + pixels <= whole; i += pixels) {
      const __m256i pairs = _mm256_cvtepu8_epi16(load_pairs(row, at + i));
      const __m256i weight = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(weights + i * lanes));
      const __m256i sums = _mm256_srli_epi32(_mm256_madd_epi16(pairs, weight), 4);
      const __m128i made = _mm_packs_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
      auto* place = to + i * channels;
      if constexpr (channels == 3) {
        _mm_storel_epi64(reinterpret_cast<__m128i*>(place), made);
        _mm_storel_epi64(reinterpret_cast<__m128i*>(place + 3), _mm_srli_si128(made, 8));
      } else {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(place), made);
      }
    }
    for (; i < count; ++i) {
      const int w = weights[i * lanes], next = std::min(at[i] + channels, (from_ - 1) * channels);
      for (int c = 0; c < channels; ++c)
        to[i * channels + c] =
            static_cast<std::int16_t>((row[at[i] + c] * (w & 0xffff) + row[next + c] * (w >> 16)) >> 4);
    }
  }

  static void down(const std::int16_t* first, const std::int16_t* second, float after, std::uint8_t* to, int count) {
    const int weights = weights_of(after), w0 = weights & 0xffff, w1 = weights >> 16;
    const __m256i v0 = _mm256_set1_epi16(static_cast<short>(w0)), v1 = _mm256_set1_epi16(static_cast<short>(w1));
    const auto sixteen = [&](int i) {
      const __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(first + i));
      const __m256i b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(second + i));
      const __m256i sum = _mm256_add_epi16(_mm256_mulhi_epi16(a, v0), _mm256_mulhi_epi16(b, v1));
      return _mm256_srai_epi16(_mm256_add_epi16(sum, _mm256_set1_epi16(2)), 2);
    };
    int i = 0;
    for (; i + 32 <= count; i += 32) {
      const __m256i packed = _mm256_packus_epi16(sixteen(i), sixteen(i + 16));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i), _mm256_permute4x64_epi64(packed, 0b11'01'10'00));
    }
    for (; i < count; ++i) to[i] = static_cast<std::uint8_t>(((w0 * first[i] >> 16) + (w1 * second[i] >> 16) + 2) >> 2);
  }

 private:
  static constexpr int lanes = lanes_of(channels);

  // Both weights, in the two halves.
  static int weights_of(float after) {
    return static_cast<int>(std::lrint((1 - after) * 2048)) | static_cast<int>(std::lrint(after * 2048)) << 16;
  }

  // Each value beside the one that it is mixed with, of as many pixels as fit.
  static __m128i load_pairs(const std::uint8_t* row, const int* at) {
    if constexpr (channels == 1) {
      const auto pair = [&](int k) { return load<short>(row + at[k]); };
      return _mm_setr_epi16(pair(0), pair(1), pair(2), pair(3), pair(4), pair(5), pair(6), pair(7));
    } else if constexpr (channels == 2) {
      const auto pairs = [&](int k) { return load<int>(row + at[k]); };
      return _mm_shuffle_epi8(_mm_setr_epi32(pairs(0), pairs(1), pairs(2), pairs(3)),
                              _mm_setr_epi8(0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15));
    }
    const __m128i read = _mm_unpacklo_epi64(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(row + at[0])),
                                            _mm_loadl_epi64(reinterpret_cast<const __m128i*>(row + at[1])));
    if constexpr (channels == 3)
      return _mm_shuffle_epi8(read, _mm_setr_epi8(0, 3, 1, 4, 2, 5, -1, -1, 8, 11, 9, 12, 10, 13, -1, -1));
    return _mm_shuffle_epi8(read, _mm_setr_epi8(0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15));
  }

  template <class T>
  static T load(const std::uint8_t* from) {
    T value;
    std::memcpy(&value, from, sizeof(T));
    return value;
  }

  int from_;
  int whole_ = 0;
  std::vector<int> at_;
  std::vector<int> weights_;  // one for each lane
};

}  // namespace belfry
