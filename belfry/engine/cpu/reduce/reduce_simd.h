// Reductions of [outer][axis][inner] over axis.
#pragma once

#include <cstdint>

namespace belfry::simd {

enum class ReduceOp { sum, sum_squares, max, min };  // max and min are NaN if any element is

struct ReduceRows {
  ReduceOp op = ReduceOp::sum;
  const float* input = nullptr;  // [rows][length]
  float* output = nullptr;       // [rows]
  std::int64_t length = 0;
  float scale = 1;  // of the result
};

// Columns of a matrix whose rows are `stride` apart.
struct ReduceColumns {
  ReduceOp op = ReduceOp::sum;
  const float* input = nullptr;
  float* output = nullptr;  // [columns]
  std::int64_t rows = 0, columns = 0, stride = 0;
  float scale = 1;
};

constexpr std::int64_t kReduceColumns = 1024;  // the most columns that one call takes

struct ReduceKernels {
  void (*rows)(const ReduceRows&, std::int64_t begin, std::int64_t end);
  // The reduction of n elements; of none it is the operation's neutral element.
  double (*range)(ReduceOp, const float* input, std::int64_t n);
  void (*columns)(const ReduceColumns&);
};

}  // namespace belfry::simd

namespace belfry::avx2 {
extern const simd::ReduceKernels kReduce;
}
namespace belfry::avx512 {
extern const simd::ReduceKernels kReduce;
}
