#include "belfry/dataflow/image/internal/reverse_row.h"

#include <immintrin.h>

#include <cstring>

#include "belfry/base/check.h"

namespace belfry {
namespace {

// Small pixels: as many as fit 16 bytes at a time. Of a block of three-byte pixels one byte is left over: it is read
// before the block, and what is written after it is overwritten.
template <int size>
int reverse_blocks(const std::byte* from, std::byte* to, int width) {
  constexpr int count = 16 / size, rest = 16 - count * size;
  alignas(16) char order[16] = {};
  for (int i = 0; i < count * size; ++i) order[i] = static_cast<char>(rest + (count - 1 - i / size) * size + i % size);
  const __m128i shuffle = _mm_load_si128(reinterpret_cast<const __m128i*>(order));
  int x = 0;
  for (; x + count + (rest > 0 ? 1 : 0) <= width; x += count) {
    const auto* block = reinterpret_cast<const __m128i*>(from + (width - count - x) * size - rest);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + x * size), _mm_shuffle_epi8(_mm_loadu_si128(block), shuffle));
  }
  return x;
}

template <int size>
void reverse_pixels(const std::byte* from, std::byte* to, int width) {
  int x = 0;
  if constexpr (size <= 4) x = reverse_blocks<size>(from, to, width);
  for (; x < width; ++x) std::memcpy(to + x * size, from + (width - 1 - x) * size, size);
}

}  // namespace

void reverse_row(const std::byte* from, std::byte* to, int width, std::size_t pixel_bytes) {
  switch (pixel_bytes) {
    case 1: return reverse_pixels<1>(from, to, width);
    case 2: return reverse_pixels<2>(from, to, width);
    case 3: return reverse_pixels<3>(from, to, width);
    case 4: return reverse_pixels<4>(from, to, width);
    case 8: return reverse_pixels<8>(from, to, width);
    case 12: return reverse_pixels<12>(from, to, width);
    default:
      BELFRY_BUG_IF(pixel_bytes != 16, "a pixel of {} bytes", pixel_bytes);
      return reverse_pixels<16>(from, to, width);
  }
}

}  // namespace belfry
