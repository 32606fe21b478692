#include "belfry/engine/cpu/matmul/gemm_epilogue_simd.h"

#include "belfry/engine/cpu/vector/row_loops.h"
#include "belfry/engine/cpu/vector/vmath.h"

namespace belfry::BELFRY_ISA {
namespace {

void gelu_rows(const simd::GeluRows& args) {
  if (args.before != nullptr) map_row(args.before, args.count, [](Vec x) { return x; }, args.y);
  if (args.slope == nullptr) return map_row(args.y, args.count, [](Vec x) { return gelu(x); }, args.y);
  std::int64_t i = 0;
  for (; i + kWidth <= args.count; i += kWidth) {
    const Vec x = load(args.y + i);
    store(args.slope + i, gelu_slope(x));
    store(args.y + i, gelu(x));
  }
  if (const std::int64_t left = args.count - i; left > 0) {
    const Vec x = load_first(args.y + i, left);
    store_first(args.slope + i, gelu_slope(x), left);
    store_first(args.y + i, gelu(x), left);
  }
}

void scale_rows(const simd::ScaledRows& args) {
  for (std::int64_t r = 0; r < args.rows; ++r) {
    float* y = args.y + r * args.n;
    const float* factor = args.factor + r * args.n;
    map_row(y, args.n, [](Vec a, Vec b) { return a * b; }, y, factor);
    if (args.sums != nullptr) map_row(args.sums, args.n, [](Vec sum, Vec a) { return sum + a; }, args.sums, y);
  }
}

}  // namespace

const simd::GemmEpilogueKernels kGemmEpilogue = {gelu_rows, scale_rows};

}  // namespace belfry::BELFRY_ISA
