// c += a b for a few rows of a and a matrix b that is used repeatedly: it is packed once, into panels of columns
// that are read from first to last. An element is one chain of fused multiply-adds along the depth: its bits depend
// neither on the other rows nor on the instruction set.
#pragma once

#include <cstdint>

namespace belfry::simd {

// b [depth][columns], or the transpose of what is stored: [columns][depth].
struct PanelPack {
  const float* b = nullptr;
  std::int64_t depth = 0, columns = 0;
  bool transposed = false;
  float* packed = nullptr;  // packed_floats(depth, columns)
};

// Enough for the panels of either instruction set.
constexpr std::int64_t packed_floats(std::int64_t depth, std::int64_t columns) {
  return depth * ((columns + 15) / 16 * 16);
}

struct PanelProduct {
  const float* a = nullptr;  // [rows][depth]
  const float* packed = nullptr;
  float* c = nullptr;  // [rows][columns]
  std::int64_t rows = 0, depth = 0, columns = 0;
};

struct PanelKernels {
  void (*pack)(const PanelPack&);
  void (*multiply_add)(const PanelProduct&);
};

}  // namespace belfry::simd

namespace belfry::avx2 {
extern const simd::PanelKernels kPanels;
}
namespace belfry::avx512 {
extern const simd::PanelKernels kPanels;
}
