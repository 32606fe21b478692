#include "belfry/engine/cpu/conv/columns_simd.h"

#include "belfry/engine/cpu/vector/lanes.h"

namespace belfry::BELFRY_ISA {
namespace {

// A block of some pixels by some vectors of a column stays in registers while the loop goes down the channels.
#ifdef __AVX512F__
constexpr int kMostVectors = 3;
constexpr int pixels_of(int vectors) { return vectors == 1 ? 14 : vectors == 2 ? 12 : 8; }
#else
constexpr int kMostVectors = 2;
constexpr int pixels_of(int vectors) { return vectors == 1 ? 8 : 5; }
#endif

template <int pixels, int vectors>
void block(const simd::Columns& a, std::int64_t pixel, std::int64_t column) {
  Vec sum[pixels][vectors] = {};
  const float* w = a.weights + column;
  for (std::int64_t first = 0; first < a.channels; first += a.inner) {
    const float* x = a.x + first / a.inner * a.group_stride + pixel * a.inner;
    const std::int64_t lanes = a.channels - first < a.inner ? a.channels - first : a.inner;
    for (std::int64_t lane = 0; lane < lanes; ++lane, w += a.width) {
      Vec weights[vectors];
      for (int v = 0; v < vectors; ++v) weights[v] = load(w + v * kWidth);
      for (int p = 0; p < pixels; ++p) {
        const Vec value = splat(x[p * a.inner + lane]);
        for (int v = 0; v < vectors; ++v) sum[p][v] = fma(value, weights[v], sum[p][v]);
      }
    }
  }
  for (int p = 0; p < pixels; ++p)
    for (int v = 0; v < vectors; ++v) store(a.columns + (pixel + p) * a.width + column + v * kWidth, sum[p][v]);
}

template <int vectors>
void all_pixels(const simd::Columns& a, std::int64_t column) {
  constexpr int kBlock = pixels_of(vectors);
  std::int64_t pixel = 0;
  for (; pixel + kBlock <= a.pixels; pixel += kBlock) block<kBlock, vectors>(a, pixel, column);
  for (; pixel < a.pixels; ++pixel) block<1, vectors>(a, pixel, column);
}

void run(const simd::Columns& a) {
  std::int64_t column = 0;
  for (; column + kMostVectors * kWidth <= a.width; column += kMostVectors * kWidth)
    all_pixels<kMostVectors>(a, column);
  if constexpr (kMostVectors > 2)
    for (; column + 2 * kWidth <= a.width; column += 2 * kWidth) all_pixels<2>(a, column);
  for (; column < a.width; column += kWidth) all_pixels<1>(a, column);
}

}  // namespace

const simd::ColumnsKernels kColumns = {run};

}  // namespace belfry::BELFRY_ISA
