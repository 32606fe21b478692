// One row from several: y = sum_k weight_k x_k, in the order of k.
#pragma once

#include <cstdint>

namespace belfry::simd {

struct WeightedRow {
  const float* x = nullptr;
  float weight = 0;
};

struct WeightedRowsKernels {
  // `count` rows of n elements; with `add` they are added to the contents of y. The sum of no rows is 0.
  void (*sum)(const WeightedRow* rows, int count, std::int64_t n, bool add, float* y);
};

}  // namespace belfry::simd

namespace belfry::avx2 {
extern const simd::WeightedRowsKernels kWeightedRows;
}
namespace belfry::avx512 {
extern const simd::WeightedRowsKernels kWeightedRows;
}
