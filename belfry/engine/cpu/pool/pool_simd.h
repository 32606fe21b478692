// Pooling of one slab (one image's group of channels), [in_h][in_w][inner] to [out_h][out_w][inner]. Window (oy, ox)
// covers the cells (oy * stride_h - pad_top + ky, ox * stride_w - pad_left + kx) that exist, at least one; a cell's
// number in its window is ky * kernel_w + kx. Each call writes the rows [begin, end) of its result.
#pragma once

#include <cstdint>

namespace belfry::simd {

struct PoolWindow {
  std::int64_t inner = 0;
  std::int64_t in_h = 0, in_w = 0;
  std::int64_t out_h = 0, out_w = 0;
  std::int64_t kernel_h = 0, kernel_w = 0;
  std::int64_t stride_h = 0, stride_w = 0;
  std::int64_t pad_top = 0, pad_left = 0;
};

// y = max, index = number of the first cell that has it; if there is NaN, y is NaN and index its last cell
struct MaxPoolSlab {
  PoolWindow window;
  std::int64_t begin = 0, end = 0;
  const float* x = nullptr;
  float* y = nullptr;
  std::uint8_t* index = nullptr;  // null: not wanted
};

// dx of a cell = sum of dy over the windows whose index is that cell; with y, only windows with y > 0 count
struct MaxPoolGradientSlab {
  PoolWindow window;
  std::int64_t begin = 0, end = 0;
  const float* dy = nullptr;
  const float* y = nullptr;
  const std::uint8_t* index = nullptr;
  float* dx = nullptr;
};

// y = sum of the window's cells / count of them (or of the whole window, padding included)
struct AveragePoolSlab {
  PoolWindow window;
  std::int64_t begin = 0, end = 0;
  const float* x = nullptr;
  float* y = nullptr;
  bool include_padding = false;
};

struct AveragePoolGradientSlab {
  PoolWindow window;
  std::int64_t begin = 0, end = 0;
  const float* dy = nullptr;
  float* dx = nullptr;
  bool include_padding = false;
};

struct PoolingKernels {
  void (*max_pool)(const MaxPoolSlab&);
  void (*max_pool_gradient)(const MaxPoolGradientSlab&);
  void (*average_pool)(const AveragePoolSlab&);
  void (*average_pool_gradient)(const AveragePoolGradientSlab&);
};

}  // namespace belfry::simd

namespace belfry::avx2 {
extern const simd::PoolingKernels kPooling;
}
namespace belfry::avx512 {
extern const simd::PoolingKernels kPooling;
}
