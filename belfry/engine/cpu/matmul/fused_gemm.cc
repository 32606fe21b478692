#include "belfry/engine/cpu/matmul/fused_gemm.h"

#include <algorithm>

#include "belfry/engine/cpu/lanes/lane_plan.h"
#include "belfry/engine/cpu/lanes/shares.h"
#include "belfry/engine/cpu/matmul/gemm_epilogue_simd.h"

namespace belfry {
namespace {

constexpr std::int64_t kChunk = 64;  // rows that stay in the cache

const simd::GemmEpilogueKernels& table() { return by_isa(cpu_isa(), avx2::kGemmEpilogue, avx512::kGemmEpilogue); }

// A thread's scratch: b packed, and sums of columns over all its rows and over a chunk.
struct Share {
  Share(void* memory, const GemmProduct& p)
      : packed(memory),
        total(reinterpret_cast<double*>(static_cast<std::byte*>(memory) + PackedRight::bytes(p))),
        sums(reinterpret_cast<float*>(total + p.n)) {}
  static std::size_t bytes(const GemmProduct& p) {
    return PackedRight::bytes(p) + cache_lines(static_cast<std::size_t>(p.n) * (sizeof(double) + sizeof(float)));
  }
  void* packed;
  double* total;
  float* sums;
};

// Rows [first, first + rows) of y are the product's.
void finish(const FusedGemm& args, const Share& share, std::int64_t first, std::int64_t rows) {
  const std::int64_t n = args.product.n, at = first * n;
  float* y = args.product.y + at;
  if (args.gelu)
    table().gelu({.y = y,
                  .before = args.before == nullptr ? nullptr : args.before + at,
                  .slope = args.slope == nullptr ? nullptr : args.slope + at,
                  .count = rows * n});
  if (args.factor == nullptr) return;
  if (args.sums != nullptr) std::fill_n(share.sums, n, 0.f);
  table().scale(
      {.y = y, .factor = args.factor + at, .sums = args.sums == nullptr ? nullptr : share.sums, .rows = rows, .n = n});
  for (std::int64_t i = 0; i < n && args.sums != nullptr; ++i) share.total[i] += static_cast<double>(share.sums[i]);
}

}  // namespace

std::size_t fused_gemm_scratch_bytes(const GemmProduct& product, int threads) {
  return Share::bytes(product) * static_cast<std::size_t>(threads);
}

void fused_gemm(const FusedGemm& args, void* scratch) {
  const GemmProduct& p = args.product;
  const std::size_t bytes = Share::bytes(p);
  const auto share = [&](int part) {
    return Share(static_cast<std::byte*>(scratch) + bytes * static_cast<std::size_t>(part), p);
  };
  for (int part = 0; part < team_size() && args.sums != nullptr; ++part) std::fill_n(share(part).total, p.n, 0.0);
  for_each_share(p.m, kChunk, scratch, bytes, [&](std::int64_t begin, std::int64_t end, void* own) {
    const Share mine(own, p);
    const PackedRight right(p, mine.packed);
    for (std::int64_t first = begin; first < end; first += kChunk) {
      const std::int64_t rows = std::min(kChunk, end - first);
      right.multiply(first, rows);
      finish(args, mine, first, rows);
    }
  });
  for (std::int64_t i = 0; i < p.n && args.sums != nullptr; ++i) {
    double sum = 0;
    for (int part = 0; part < team_size(); ++part) sum += share(part).total[i];
    args.sums[i] = static_cast<float>(sum);
  }
}

}  // namespace belfry
