#include "belfry/engine/cpu/norm/batch_norm_simd.h"

#include "belfry/engine/cpu/vector/lane_loops.h"

namespace belfry::BELFRY_ISA {

namespace {

struct MomentsKernel {
  const simd::BatchMoments& a;

  template <int count, class Access>
  void block(Place place, std::int64_t periods, Access access) const {
    const Lanes<count> center(a.center + place.lane);
    Lanes<count> sum(a.sum + place.lane), square_sum(a.square_sum + place.lane);
    const float* x = a.x + place.offset;
    for (std::int64_t p = 0; p < periods; ++p, x += a.run.period) {
      for (int v = 0; v < count; ++v) {
        const Vec d = access.keep(access.load(x + v * kWidth) - center.at[v]);
        sum.at[v] += d;
        square_sum.at[v] += d * d;
      }
    }
    sum.store_to(a.sum + place.lane);
    square_sum.store_to(a.square_sum + place.lane);
  }
};

void moments(const simd::BatchMoments& a) {
  clear_lanes(a.sum, a.run.period);
  clear_lanes(a.square_sum, a.run.period);
  for_each_block(a.run, {}, MomentsKernel{a});
}

enum class Act { none, relu, leaky };

template <bool with_residual, Act act, bool with_mask>
struct NormalizeKernel {
  const simd::Normalize& a;

  template <int count, class Access>
  void block(Place place, std::int64_t periods, Access access) const {
    const Lanes<count> mean(a.mean + place.lane), scale(a.scale + place.lane), shift(a.shift + place.lane);
    const float *x = a.x + place.offset, *residual = with_residual ? a.residual + place.offset : nullptr;
    float* y = a.y + place.offset;
    std::uint8_t* mask = with_mask ? a.mask.bits + place.mask : nullptr;
    const Vec alpha = splat(a.alpha);
    const std::int64_t end = periods * a.run.period, step = a.run.period, mask_step = a.mask.period_stride;
    for (std::int64_t at = 0; at < end; at += step) {
      std::uint64_t bits = 0;
      for (int v = 0; v < count; ++v) {
        const std::int64_t i = at + v * kWidth;
        Vec out = scale.at[v] * (access.load(x + i) - mean.at[v]) + shift.at[v];
        if constexpr (with_residual) out += access.load(residual + i);
        if constexpr (with_mask) bits |= positive_bits(out) << (v * kWidth);
        if constexpr (act == Act::relu) out = max(Vec{}, out);  // in this order NaN stays NaN
        if constexpr (act == Act::leaky) out = out > 0.f ? out : out * alpha;
        access.store(y + i, out);
      }
      if constexpr (with_mask) {
        store_bits<count>(mask, bits);
        mask += mask_step;
      }
    }
  }
};

template <bool with_residual, Act act>
void normalize_by_mask(const simd::Normalize& a) {
  if (a.mask.bits != nullptr) return for_each_block(a.run, a.mask, NormalizeKernel<with_residual, act, true>{a});
  for_each_block(a.run, a.mask, NormalizeKernel<with_residual, act, false>{a});
}

template <bool with_residual>
void normalize_with(const simd::Normalize& a) {
  if (!a.relu) return for_each_block(a.run, a.mask, NormalizeKernel<with_residual, Act::none, false>{a});
  if (a.alpha == 0.f) return normalize_by_mask<with_residual, Act::relu>(a);
  normalize_by_mask<with_residual, Act::leaky>(a);
}

void normalize(const simd::Normalize& a) {
  if (a.residual != nullptr) return normalize_with<true>(a);
  normalize_with<false>(a);
}

enum class Wants { nothing, g, sum_of_two };  // sum_of_two: g, which is dy + dy2

template <simd::NormGradientPass pass, Act act, Wants wants>
struct GradientKernel {
  const simd::NormGradient& a;

  template <int count, class Access>
  void block(Place place, std::int64_t periods, Access access) const {
    using enum simd::NormGradientPass;
    constexpr bool writes_g = wants != Wants::nothing, second = wants == Wants::sum_of_two,
                   with_mask = act != Act::none;
    // If this pass has no such table, another one is passed instead; it is not used.
    const auto table = [&](bool there, const float* t) { return (there ? t : a.mean) + place.lane; };
    const Lanes<count> mean(a.mean + place.lane), scale(table(pass != sums, a.scale));
    const Lanes<count> slope(table(pass == batch, a.slope)), shift(table(pass == batch, a.shift));
    Lanes<count> sum_g(table(pass != batch, a.sum_g)), sum_gx(table(pass != batch, a.sum_gx));
    const std::uint8_t* mask = with_mask ? a.mask.bits + place.mask : nullptr;
    const float *dy = a.dy + place.offset, *x = a.x + place.offset, *dy2 = second ? a.dy2 + place.offset : nullptr;
    float *g_out = writes_g ? a.g + place.offset : nullptr, *dx = pass != sums ? a.dx + place.offset : nullptr;
    const Vec alpha = splat(a.alpha);
    const std::int64_t end = periods * a.run.period, step = a.run.period, mask_step = a.mask.period_stride;
    for (std::int64_t at = 0; at < end; at += step) {
      const std::uint64_t bits = with_mask ? load_bits<count>(mask) : 0;
      for (int v = 0; v < count; ++v) {
        const std::int64_t i = at + v * kWidth;
        Vec g = access.load(dy + i);
        if constexpr (second) g += access.load(dy2 + i);
        if constexpr (act == Act::relu) g = keep_by_bits(bits >> (v * kWidth), g);
        if constexpr (act == Act::leaky) g = take_by_bits(bits >> (v * kWidth), g, g * alpha);
        const Vec centered = access.load(x + i) - mean.at[v];
        if constexpr (writes_g) access.store(g_out + i, g);
        if constexpr (pass != batch) sum_g.at[v] += g, sum_gx.at[v] += g * centered;
        if constexpr (pass == batch) access.store(dx + i, scale.at[v] * g + (slope.at[v] * centered + shift.at[v]));
        if constexpr (pass == fixed) access.store(dx + i, scale.at[v] * g);
      }
      if constexpr (with_mask) mask += mask_step;
    }
    if constexpr (pass != batch) {
      sum_g.store_to(a.sum_g + place.lane);
      sum_gx.store_to(a.sum_gx + place.lane);
    }
  }
};

template <simd::NormGradientPass pass, Wants wants>
void gradient_by_mask(const simd::NormGradient& a) {
  if (a.mask.bits == nullptr) return for_each_block(a.run, a.mask, GradientKernel<pass, Act::none, wants>{a});
  if (a.alpha == 0.f) return for_each_block(a.run, a.mask, GradientKernel<pass, Act::relu, wants>{a});
  for_each_block(a.run, a.mask, GradientKernel<pass, Act::leaky, wants>{a});
}

void gradient(const simd::NormGradient& a) {
  using enum simd::NormGradientPass;
  if (a.pass == batch)
    return a.g != nullptr ? gradient_by_mask<batch, Wants::g>(a) : gradient_by_mask<batch, Wants::nothing>(a);
  clear_lanes(a.sum_g, a.run.period);
  clear_lanes(a.sum_gx, a.run.period);
  if (a.pass == fixed)
    return a.g != nullptr ? gradient_by_mask<fixed, Wants::g>(a) : gradient_by_mask<fixed, Wants::nothing>(a);
  a.dy2 != nullptr ? gradient_by_mask<sums, Wants::sum_of_two>(a) : gradient_by_mask<sums, Wants::nothing>(a);
}

}  // namespace

const simd::BatchNormKernels kBatchNorm = {moments, normalize, gradient};

}  // namespace belfry::BELFRY_ISA
