// A product of matrices on the calling thread: y = start + a b, cut into blocks that fit the caches and packed for the
// vector kernels. The bits do not depend on how the rows or columns of one product are shared among threads.
#pragma once

#include <cstddef>
#include <cstdint>

#include "belfry/engine/cpu/kernel/isa.h"

namespace belfry {

// A row-major matrix whose rows are `row` apart; transposed: [k, m] or [n, k] as it lies in memory.
struct GemmOperand {
  const float* data = nullptr;
  std::int64_t row = 0;
  bool transposed = false;
};

struct GemmProduct {
  std::int64_t m = 0, n = 0, k = 0;
  GemmOperand a{}, b{};
  float* y = nullptr;  // [m][n], rows `y_row` apart
  std::int64_t y_row = 0;
  // What the sums begin with: nothing, a matrix like y (y itself, to add to it), or with start_row 0 one row for all.
  const float* start = nullptr;
  std::int64_t start_row = 0;
  bool bf16 = false;  // PackedRight: factors rounded to bf16, by the CPU's tiles
};

std::size_t gemm_scratch_bytes(std::int64_t m, std::int64_t n, std::int64_t k, bool transpose_a, Isa isa = cpu_isa());
void gemm(const GemmProduct& product, void* scratch, Isa isa = cpu_isa());

// The same with all of b packed first, to compute the product a few rows at a time. a is not transposed.
class PackedRight {
 public:
  static std::size_t bytes(const GemmProduct& product, Isa isa = cpu_isa());
  PackedRight(const GemmProduct& product, void* memory, Isa isa = cpu_isa());  // packs
  void multiply(std::int64_t first_row, std::int64_t rows) const;

 private:
  void multiply_bf16(std::int64_t first_row, std::int64_t rows) const;

  const GemmProduct& product_;
  float* packed_;
  Isa isa_;
};

}  // namespace belfry
