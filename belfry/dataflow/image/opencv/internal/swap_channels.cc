#include "belfry/dataflow/image/opencv/internal/swap_channels.h"

#include <immintrin.h>

#include <utility>

namespace belfry {

// Five pixels at a time; of the sixth, the first byte is written as it was. The next block is read before this one is
// written: to read what was just written in part would wait for the write.
void swap_red_and_blue(std::uint8_t* pixels, std::size_t count) {
  const __m128i order = _mm_setr_epi8(2, 1, 0, 5, 4, 3, 8, 7, 6, 11, 10, 9, 14, 13, 12, 15);
  const auto at = [&](std::size_t pixel) { return reinterpret_cast<__m128i*>(pixels + 3 * pixel); };
  std::size_t i = 0;
  if (count >= 6) {
    __m128i block = _mm_loadu_si128(at(0));
    for (; i + 11 <= count; i += 5) {
      const __m128i next = _mm_loadu_si128(at(i + 5));
      _mm_storeu_si128(at(i), _mm_shuffle_epi8(block, order));
      block = next;
    }
    _mm_storeu_si128(at(i), _mm_shuffle_epi8(block, order));
    i += 5;
  }
  for (; i < count; ++i) std::swap(pixels[3 * i], pixels[3 * i + 2]);
}

}  // namespace belfry
