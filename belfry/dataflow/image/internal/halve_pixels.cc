#include "belfry/dataflow/image/internal/halve_pixels.h"

#include <immintrin.h>

#include <cstdint>

namespace belfry {
namespace {

// The order of 16 bytes in which each stands beside the same channel's of the next pixel. Of pixels of three bytes, the
// first four.
template <int channels>
__m128i order_of_pairs() {
  if constexpr (channels == 1) return _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  if constexpr (channels == 2) return _mm_setr_epi8(0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15);
  if constexpr (channels == 3) return _mm_setr_epi8(0, 3, 1, 4, 2, 5, 6, 9, 7, 10, 8, 11, -1, -1, -1, -1);
  return _mm_setr_epi8(0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15);
}

// The mean of four bytes of which this is the sum. Halves are rounded up, but with two channels to even: for those
// OpenCV has other code, and this is to have its bits.
template <int channels>
__m128i quarter(__m128i sum) {
  const __m128i odd = _mm_and_si128(_mm_srli_epi16(sum, 2), _mm_set1_epi16(1));
  const __m128i up = channels == 2 ? _mm_add_epi16(odd, _mm_set1_epi16(1)) : _mm_set1_epi16(2);
  return _mm_srli_epi16(_mm_add_epi16(sum, up), 2);
}

// Two rows of 2 * width pixels become one.
template <int channels>
void halve_rows(const std::uint8_t* upper, const std::uint8_t* lower, std::uint8_t* to, int width) {
  constexpr int made = channels == 3 ? 6 : 8;  // values at a time, of 16 bytes read and 8 written
  const __m128i order = order_of_pairs<channels>(), ones = _mm_set1_epi8(1);
  const auto sums = [&](const std::uint8_t* row) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(row));
    return _mm_maddubs_epi16(_mm_shuffle_epi8(bytes, order), ones);
  };
  const int count = width * channels;
  int i = 0;
  for (; i + 8 <= count; i += made) {
    const __m128i mean = quarter<channels>(_mm_add_epi16(sums(upper + 2 * i), sums(lower + 2 * i)));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(to + i), _mm_packus_epi16(mean, mean));
  }
  for (; i < count; ++i) {
    const int at = 2 * (i - i % channels) + i % channels;
    const int sum = upper[at] + upper[at + channels] + lower[at] + lower[at + channels];
    to[i] = static_cast<std::uint8_t>((sum + (channels == 2 ? 1 + (sum >> 2) % 2 : 2)) >> 2);
  }
}

// The order of the sums is OpenCV's: row by row where it has vectors, for 1 and 4 channels, else one after the other.
template <int channels>
void halve_rows(const float* upper, const float* lower, float* to, int width) {
  const __m128 part = _mm_set1_ps(0.25f);
  int x = 0;
  if constexpr (channels == 1) {
    const auto sums = [&](const float* row) {
      const __m128 low = _mm_loadu_ps(row), high = _mm_loadu_ps(row + 4);
      return _mm_add_ps(_mm_shuffle_ps(low, high, 0b10'00'10'00), _mm_shuffle_ps(low, high, 0b11'01'11'01));
    };
    for (; x + 4 <= width; x += 4)
      _mm_storeu_ps(to + x, _mm_mul_ps(_mm_add_ps(sums(upper + 2 * x), sums(lower + 2 * x)), part));
  } else if constexpr (channels == 4) {
    const auto sum = [&](const float* row) { return _mm_add_ps(_mm_loadu_ps(row), _mm_loadu_ps(row + 4)); };
    for (; x < width; ++x)
      _mm_storeu_ps(to + 4 * x, _mm_mul_ps(_mm_add_ps(sum(upper + 8 * x), sum(lower + 8 * x)), part));
  }
  for (; x < width; ++x)
    for (int c = 0; c < channels; ++c) {
      const int at = 2 * channels * x + c, next = at + channels;
      to[channels * x + c] = (upper[at] + upper[next] + lower[at] + lower[next]) * 0.25f;
    }
}

template <class T, int channels>
Array halved_of(const ImageView& picture) {
  const int height = picture.height() / 2, width = picture.width() / 2;
  Array made(picture.dtype(), {height, width, channels});
  T* to = made.values<T>().data();
  const auto row = [&](int y) { return reinterpret_cast<const T*>(picture.stored_row(y)); };
  for (int y = 0; y < height; ++y, to += width * channels) halve_rows<channels>(row(2 * y), row(2 * y + 1), to, width);
  return made;
}

template <class T>
Array halved_of(const ImageView& picture) {
  switch (picture.channels()) {
    case 1: return halved_of<T, 1>(picture);
    case 2: return halved_of<T, 2>(picture);
    case 3: return halved_of<T, 3>(picture);
    default: return halved_of<T, 4>(picture);
  }
}

}  // namespace

Array halved(const ImageView& picture) {
  return picture.dtype() == u8 ? halved_of<std::uint8_t>(picture) : halved_of<float>(picture);
}

}  // namespace belfry
