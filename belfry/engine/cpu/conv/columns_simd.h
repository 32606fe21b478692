// What every pixel of an image adds to the windows around it: columns[p][k] = sum over channels o of x[p][o] *
// weights[o][k]. Channel o of pixel p is x[o / inner * group_stride + p * inner + o % inner], which covers images with
// their channels last (inner = channels) and in blocks.
#pragma once

#include <cstdint>

namespace belfry::simd {

struct Columns {
  std::int64_t pixels = 0, channels = 0;
  std::int64_t inner = 0, group_stride = 0;
  std::int64_t width = 0;  // of a column and of a row of weights; a multiple of 16
  const float* x = nullptr;
  const float* weights = nullptr;
  float* columns = nullptr;
};

struct ColumnsKernels {
  void (*run)(const Columns&);
};

}  // namespace belfry::simd

namespace belfry::avx2 {
extern const simd::ColumnsKernels kColumns;
}
namespace belfry::avx512 {
extern const simd::ColumnsKernels kColumns;
}
