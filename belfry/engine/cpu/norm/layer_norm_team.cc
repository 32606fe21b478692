#include "belfry/engine/cpu/norm/layer_norm_team.h"

#include <algorithm>

#include "belfry/engine/cpu/lanes/lane_plan.h"
#include "belfry/engine/cpu/lanes/shares.h"

namespace belfry {
namespace {

constexpr std::int64_t kGrain = 8192;  // elements a thread must have to be worth waking
constexpr std::int64_t kBlock = 64;    // rows whose sums are made in f32, before they join those in f64

const simd::LayerNormKernels& table(Isa isa) { return by_isa(isa, avx2::kLayerNorm, avx512::kLayerNorm); }

std::int64_t grain_of(std::int64_t n) { return std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, n)); }

// One thread's sums: of all its rows, and of the block it is at.
struct Sums {
  Sums(void* share, std::int64_t n)
      : total(static_cast<double*>(share)), block(reinterpret_cast<float*>(total + 2 * n)) {}
  double* total;  // dgamma, dbeta
  float* block;
};
std::size_t share_bytes(std::int64_t n) {
  return cache_lines(static_cast<std::size_t>(2 * n) * (sizeof(double) + sizeof(float)));
}

}  // namespace

void layer_norm_forward(const LayerNormArgs& args, std::int64_t rows, Isa isa) {
  parallel_for(rows, grain_of(args.n),
               [&](std::int64_t begin, std::int64_t end) { table(isa).forward(args, begin, end); });
}

void layer_norm_backward(const LayerNormGradArgs& args, std::int64_t rows, void* scratch, Isa isa) {
  const std::int64_t n = args.n;
  const std::size_t bytes = share_bytes(n);
  const auto share = [&](int part) {
    return Sums(static_cast<std::byte*>(scratch) + bytes * static_cast<std::size_t>(part), n);
  };
  for (int part = 0; part < team_size(); ++part) std::fill_n(share(part).total, 2 * n, 0.0);
  for_each_share(rows, grain_of(n), scratch, bytes, [&](std::int64_t begin, std::int64_t end, void* own) {
    const Sums sums(own, n);
    LayerNormGradArgs block = args;
    block.dgamma = sums.block;
    block.dbeta = sums.block + n;
    for (std::int64_t row = begin; row < end; row += kBlock) {
      std::fill_n(sums.block, 2 * n, 0.f);
      table(isa).backward(block, row, std::min(end, row + kBlock));
      for (std::int64_t i = 0; i < 2 * n; ++i) sums.total[i] += static_cast<double>(sums.block[i]);
    }
  });
  for (std::int64_t i = 0; i < 2 * n; ++i) {
    double sum = 0;
    for (int part = 0; part < team_size(); ++part) sum += share(part).total[i];
    (i < n ? args.dgamma[i] : args.dbeta[i - n]) = static_cast<float>(sum);
  }
}

std::size_t layer_norm_scratch_bytes(std::int64_t n, int threads) {
  return share_bytes(n) * static_cast<std::size_t>(threads);
}

}  // namespace belfry
