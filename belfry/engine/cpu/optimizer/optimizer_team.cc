#include "belfry/engine/cpu/optimizer/optimizer_team.h"

#include <algorithm>
#include <cmath>

#include "belfry/base/check.h"
#include "belfry/base/parallel.h"

namespace belfry {
namespace {

constexpr std::int64_t kGrain = 16384;  // weights a thread must have to be worth waking
constexpr std::int64_t kLine = 16;      // floats in a cache line (doubles in two), which no two threads should share

std::int64_t blocks_of(std::int64_t n, std::int64_t size) { return (n + size - 1) / size; }

}  // namespace

UpdateStep adam_step(const AdamSettings& settings, std::int64_t t) {
  const double correction1 = 1 - std::pow(settings.beta1, static_cast<double>(t));
  const double correction2 = 1 - std::pow(settings.beta2, static_cast<double>(t));
  return {.rule = UpdateRule::adam,
          .learning_rate = settings.learning_rate / correction1,
          .beta1 = settings.beta1,
          .rest1 = 1 - settings.beta1,
          .beta2 = settings.beta2,
          .rest2 = 1 - settings.beta2,
          .epsilon = settings.epsilon,
          .second_moment_scale = 1 / std::sqrt(correction2)};
}

void apply_update(const UpdateStep& step, const UpdateBuffers<float>& buffers, std::int64_t n, Isa isa) {
  parallel_for(blocks_of(n, kLine), kGrain / kLine, [&](std::int64_t begin, std::int64_t end) {
    optimizer_kernels(isa).update(step, buffers, begin * kLine, std::min(end * kLine, n));
  });
}

void apply_update(const UpdateStep& step, const UpdateBuffers<double>& buffers, std::int64_t n, Isa isa) {
  parallel_for(blocks_of(n, kLine), kGrain / kLine, [&](std::int64_t begin, std::int64_t end) {
    optimizer_kernels(isa).update_f64(step, buffers, begin * kLine, std::min(end * kLine, n));
  });
}

void apply_update(const UpdateStep& step, const UpdateBuffers<float>& buffers, const SecondCopy& copy, Isa isa) {
  BELFRY_BUG_IF(copy.block != 8 && copy.block != 16, "second copy of weights in blocks of {}", copy.block);
  const std::int64_t tiles = copy.outer0 * copy.outer1 * copy.spatial;
  parallel_for(tiles, kGrain / (copy.block * copy.block), [&](std::int64_t begin, std::int64_t end) {
    optimizer_kernels(isa).update_tiles(step, buffers, copy, begin, end);
  });
}

}  // namespace belfry
