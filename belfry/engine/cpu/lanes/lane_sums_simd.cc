#include "belfry/engine/cpu/lanes/lane_sums_simd.h"

#include "belfry/engine/cpu/vector/lane_loops.h"

namespace belfry::BELFRY_ISA {

namespace {

struct SumsKernel {
  const simd::LaneSums& a;

  template <int count, class Access>
  void block(Place place, std::int64_t periods, Access access) const {
    Lanes<count> sum(a.sum + place.lane);
    const float* x = a.x + place.offset;
    for (std::int64_t p = 0; p < periods; ++p, x += a.run.period) {
      for (int v = 0; v < count; ++v) sum.at[v] += access.load(x + v * kWidth);
    }
    sum.store_to(a.sum + place.lane);
  }
};

void sums(const simd::LaneSums& a) {
  clear_lanes(a.sum, a.run.period);
  for_each_block(a.run, {}, SumsKernel{a});
}

struct ReluGradientSumsKernel {
  const simd::ReluGradientSums& a;

  template <int count, class Access>
  void block(Place place, std::int64_t periods, Access access) const {
    Lanes<count> sum(a.sum + place.lane);
    std::int64_t at = place.offset;
    for (std::int64_t p = 0; p < periods; ++p, at += a.run.period) {
      for (int v = 0; v < count; ++v) {
        const std::int64_t i = at + v * kWidth;
        const Vec g = keep_where_positive(access.load(a.y + i), access.load(a.dy + i));
        sum.at[v] += g;
        access.store(a.dx + i, g);
      }
    }
    sum.store_to(a.sum + place.lane);
  }
};

void relu_gradient_sums(const simd::ReluGradientSums& a) {
  clear_lanes(a.sum, a.run.period);
  for_each_block(a.run, {}, ReluGradientSumsKernel{a});
}

enum class Act { none, relu, leaky };

template <Act act>
struct BiasKernel {
  const simd::LaneBias& a;

  template <int count, class Access>
  void block(Place place, std::int64_t periods, Access access) const {
    const Lanes<count> values(a.values + place.lane);
    const Vec alpha = splat(a.alpha);
    float* x = a.x + place.offset;
    for (std::int64_t p = 0; p < periods; ++p, x += a.run.period) {
      for (int v = 0; v < count; ++v) {
        Vec out = access.load(x + v * kWidth) + values.at[v];
        if constexpr (act == Act::relu) out = max(Vec{}, out);  // in this order NaN stays NaN
        if constexpr (act == Act::leaky) out = out > 0.f ? out : out * alpha;
        access.store(x + v * kWidth, out);
      }
    }
  }
};

void bias(const simd::LaneBias& a) {
  if (!a.relu) return for_each_block(a.run, {}, BiasKernel<Act::none>{a});
  if (a.alpha == 0.f) return for_each_block(a.run, {}, BiasKernel<Act::relu>{a});
  for_each_block(a.run, {}, BiasKernel<Act::leaky>{a});
}

}  // namespace

const simd::LaneSumKernels kLaneSums = {sums, relu_gradient_sums, bias};

}  // namespace belfry::BELFRY_ISA
