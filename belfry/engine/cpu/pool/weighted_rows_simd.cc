#include "belfry/engine/cpu/pool/weighted_rows_simd.h"

#include "belfry/engine/cpu/vector/lanes.h"

namespace belfry::BELFRY_ISA {
namespace {

void sum(const simd::WeightedRow* rows, int count, std::int64_t n, bool add, float* y) {
  std::int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth) {
    Vec total = add ? load(y + i) : Vec{};
    for (int k = 0; k < count; ++k) total = fma(load(rows[k].x + i), splat(rows[k].weight), total);
    store(y + i, total);
  }
  if (i == n) return;
  Vec total = add ? load_first(y + i, n - i) : Vec{};
  for (int k = 0; k < count; ++k) total = fma(load_first(rows[k].x + i, n - i), splat(rows[k].weight), total);
  store_first(y + i, total, n - i);
}

}  // namespace

const simd::WeightedRowsKernels kWeightedRows = {sum};

}  // namespace belfry::BELFRY_ISA
