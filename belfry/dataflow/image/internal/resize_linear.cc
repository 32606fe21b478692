// Linear interpolation: each row that is needed is brought to the new width, and two of those make a row of the result.
//
//   u8   weights are whole numbers w of 2048ths. across: s = (w0 * a + w1 * b) >> 4, which fits 16 bits;
//        down: ((w0 * s0 >> 16) + (w1 * s1 >> 16) + 2) >> 2
//   f32  w0 * a + w1 * b both times, each product and sum rounded: the file is compiled without fused products
#include <immintrin.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <vector>

#include "belfry/dataflow/image/internal/resize_pixels.h"

namespace belfry {
namespace {

// Pixel i of the result lies between the pixels `at` and at + 1, a part `after` of the way.
struct Place {
  int at;
  float after;
};

std::vector<Place> places(int from, int to) {
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

// u8: how the values of a row become one of the new width.
template <int channels>
class ByteRows {
 public:
  using Value = std::uint8_t;
  using Sum = std::int16_t;
  static constexpr int slack = 8;  // values written behind a row

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
    int i = 0;
    for (; i + pixels <= whole_; i += pixels) {
      const __m256i pairs = _mm256_cvtepu8_epi16(load_pairs(row, at_.data() + i));
      const __m256i weights = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(weights_.data() + i * lanes));
      const __m256i sums = _mm256_srli_epi32(_mm256_madd_epi16(pairs, weights), 4);
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
      const auto n = static_cast<std::size_t>(i);
      const int w = weights_[n * lanes], at = at_[n], next = std::min(at + channels, (from_ - 1) * channels);
      for (int c = 0; c < channels; ++c)
        to[i * channels + c] = static_cast<std::int16_t>((row[at + c] * (w & 0xffff) + row[next + c] * (w >> 16)) >> 4);
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

template <int channels>
class FloatRows {
 public:
  using Value = float;
  using Sum = float;
  static constexpr int slack = 4;

  FloatRows(int from, int to) : places_(places(from, to)) {
    constexpr int read = channels + lanes_of(channels);
    for (Place& place : places_) {
      const int at = std::clamp(place.at, 0, from - 1);
      const bool last = at == from - 1;  // has no other one to be mixed with
      if (place.at != at || last) place.after = 0;
      place.at = at * channels;
      inner_ += last ? 0 : 1;
      whole_ += place.at + read <= from * channels ? 1 : 0;
    }
  }

  void across(const float* row, float* to) const {
    const auto count = static_cast<int>(places_.size());
    int i = 0;
    if constexpr (channels >= 3)
      for (; i < whole_; ++i) {
        const Place& place = places_[static_cast<std::size_t>(i)];
        const __m128 first = _mm_mul_ps(_mm_loadu_ps(row + place.at), _mm_set1_ps(1 - place.after));
        const __m128 second = _mm_mul_ps(_mm_loadu_ps(row + place.at + channels), _mm_set1_ps(place.after));
        _mm_storeu_ps(to + i * channels, _mm_add_ps(first, second));
      }
    for (; i < inner_; ++i) {
      const auto& [at, after] = places_[static_cast<std::size_t>(i)];
      for (int c = 0; c < channels; ++c)
        to[i * channels + c] = row[at + c] * (1 - after) + row[at + channels + c] * after;
    }
    for (; i < count; ++i) std::copy_n(row + places_[static_cast<std::size_t>(i)].at, channels, to + i * channels);
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
  std::vector<Place> places_;  // `at` in values
  int inner_ = 0, whole_ = 0;  // of the first so many, both pixels are there; and so are the bytes that a vector reads
};

template <class Rows>
Array resized(const ImageView& picture, int height, int width) {
  const Rows rows(picture.width(), width);
  const int count = width * picture.channels(), last = picture.height() - 1;
  // The two rows at hand, and which they are.
  std::array<std::vector<typename Rows::Sum>, 2> made;
  for (auto& row : made) row.resize(static_cast<std::size_t>(count) + Rows::slack);
  std::array<int, 2> which{-1, -1};
  Array result(picture.dtype(), {height, width, picture.channels()});
  auto* to = static_cast<typename Rows::Value*>(result.raw());
  for (const Place& place : places(picture.height(), height)) {
    const int first = std::clamp(place.at, 0, last), second = std::clamp(place.at + 1, 0, last);
    if (which[1] == first) {  // one step down
      std::swap(made[0], made[1]);
      std::swap(which[0], which[1]);
    }
    for (int k = 0; k < 2; ++k) {
      const int row = k == 0 ? first : second;
      if (which[k] == row) continue;
      rows.across(reinterpret_cast<const typename Rows::Value*>(picture.stored_row(row)), made[k].data());
      which[k] = row;
    }
    Rows::down(made[0].data(), made[1].data(), place.after, to, count);
    to += count;
  }
  return result;
}

template <template <int> class Rows>
Array resized_of(const ImageView& picture, int height, int width) {
  switch (picture.channels()) {
    case 1: return resized<Rows<1>>(picture, height, width);
    case 2: return resized<Rows<2>>(picture, height, width);
    case 3: return resized<Rows<3>>(picture, height, width);
    default: return resized<Rows<4>>(picture, height, width);
  }
}

}  // namespace

Array resize_linear(ImageView& picture, int height, int width) {
  picture.settle();
  return picture.dtype() == u8 ? resized_of<ByteRows>(picture, height, width)
                               : resized_of<FloatRows>(picture, height, width);
}

}  // namespace belfry
