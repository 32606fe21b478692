#include "belfry/dataflow/image/internal/scale_rows.h"

#include <immintrin.h>

#include <cmath>
#include <vector>

#include "belfry/dataflow/image/internal/reverse_row.h"

namespace belfry {
namespace {

constexpr int kLanes = 8;

__m256 load(const std::uint8_t* from) {
  return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from))));
}
__m256 load(const float* from) { return _mm256_loadu_ps(from); }

// Three vectors hold whole pixels, of 1 to 4 channels: 24 is a multiple of 1, 2, 3 and 4.
struct Pattern {
  alignas(32) float scale[3 * kLanes];
  alignas(32) float shift[3 * kLanes];
};

Pattern pattern_of(const ChannelScale& by, int channels) {
  Pattern pattern;
  for (int i = 0; i < 3 * kLanes; ++i) {
    pattern.scale[i] = by.scale[i % channels];
    pattern.shift[i] = by.shift[i % channels];
  }
  return pattern;
}

template <class T>
void scale_row(const T* from, float* to, int count, const Pattern& pattern) {
  __m256 scale[3], shift[3];
  for (int k = 0; k < 3; ++k) {
    scale[k] = _mm256_load_ps(pattern.scale + k * kLanes);
    shift[k] = _mm256_load_ps(pattern.shift + k * kLanes);
  }
  int i = 0;
  for (; i + 3 * kLanes <= count; i += 3 * kLanes)
    for (int k = 0; k < 3; ++k)
      _mm256_storeu_ps(to + i + k * kLanes, _mm256_fmadd_ps(load(from + i + k * kLanes), scale[k], shift[k]));
  // std::fma: a pixel comes out the same wherever it is.
  for (int k = 0; i < count; ++i, ++k)
    to[i] = std::fma(static_cast<float>(from[i]), pattern.scale[k], pattern.shift[k]);
}

template <class T>
void scale_rows(const ImageView& image, const Pattern& pattern, float* to) {
  const int height = image.height(), width = image.width(), count = width * image.channels();
  std::vector<std::byte> reversed(image.reversed_columns() ? image.row_bytes() : 0);
  for (int y = 0; y < height; ++y, to += count) {
    const std::byte* from = image.stored_row(image.reversed_rows() ? height - 1 - y : y);
    if (image.reversed_columns()) {
      reverse_row(from, reversed.data(), width, image.pixel_bytes());
      from = reversed.data();
    }
    scale_row(reinterpret_cast<const T*>(from), to, count, pattern);
  }
}

}  // namespace

Array scale_pixels(const ImageView& image, const ChannelScale& by) {
  Array made(f32, {image.height(), image.width(), image.channels()});
  const Pattern pattern = pattern_of(by, image.channels());
  auto* to = static_cast<float*>(made.raw());
  if (image.dtype() == u8)
    scale_rows<std::uint8_t>(image, pattern, to);
  else
    scale_rows<float>(image, pattern, to);
  return made;
}

}  // namespace belfry
