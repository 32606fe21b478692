// Backward passes of batch normalisation.
#include <algorithm>

#include "belfry/base/parallel.h"
#include "belfry/engine/cpu/norm/batch_norm_scratch.h"
#include "belfry/engine/cpu/norm/batch_norm_simd.h"
#include "belfry/engine/cpu/norm/batch_norm_team.h"

namespace belfry {
namespace {

class Backward {
 public:
  Backward(const LanePlan& plan, const BatchNormBackward& args)
      : plan_(plan), args_(args), kernels_(by_isa(args.isa, avx2::kBatchNorm, avx512::kBatchNorm)) {}

  void run() const {
    const bool two_passes = !args_.constant_statistics && args_.dx != nullptr;
    run_parts(plan_.parts(), [&](int part) {
      const LaneShare share = plan_.share(part);
      for (std::int64_t group = share.first_group; group < share.last_group; ++group) {
        sums(part, group, share);
        if (!plan_.by_group()) continue;
        finish(part, group);
        if (two_passes) gradient(part, group, share);
      }
    });
    if (plan_.by_group()) return;
    for (std::int64_t group = 0; group < plan_.view().groups; ++group) {
      join_parts(group);
      finish(0, group);
    }
    if (!two_passes) return;
    run_parts(plan_.parts(), [&](int part) {
      const LaneShare share = plan_.share(part);
      for (std::int64_t group = 0; group < share.last_group; ++group) gradient(part, group, share);
    });
  }

 private:
  BatchNormScratch scratch(int part) const { return {plan_, args_.scratch, part}; }
  // sum(g) and sum(g * (x - mean)) of each of the group's lanes
  double* sums_g(int part, std::int64_t group) const { return scratch(part).first + group * plan_.view().inner; }
  double* sums_gx(int part, std::int64_t group) const { return scratch(part).second + group * plan_.view().inner; }

  simd::RunMask mask(std::int64_t group, std::int64_t chunk) const {
    return plan_.mask(const_cast<std::uint8_t*>(args_.mask), group, chunk);  // the kernels of this pass only read it
  }
  // With two gradients the first pass stores their masked sum where the result of the second will be, or where it is
  // wanted anyway.
  float* summed() const { return args_.d_residual ? args_.d_residual : args_.dx; }
  float* d_residual(std::int64_t at) const { return args_.d_residual ? args_.d_residual + at : nullptr; }
  double scale(std::int64_t channel) const {
    return static_cast<double>(value_or(args_.gamma, channel, 1.f)) * static_cast<double>(args_.inv_std[channel]);
  }

  void sums(int part, std::int64_t group, const LaneShare& share) const {
    const BatchNormScratch own = scratch(part);
    double *g = sums_g(part, group), *gx = sums_gx(part, group);
    float *mean = own.tables[0], *sum_g = own.tables[1], *sum_gx = own.tables[2], *scales = own.tables[3];
    plan_.expand(group, mean, [&](std::int64_t c) { return args_.mean[c]; });
    plan_.expand(group, scales, [&](std::int64_t c) { return static_cast<float>(scale(c)); });
    std::fill(g, g + plan_.view().inner, 0.0);
    std::fill(gx, gx + plan_.view().inner, 0.0);
    const bool fixed = args_.constant_statistics;
    for (std::int64_t chunk = share.first_chunk; chunk < share.last_chunk; ++chunk) {
      const std::int64_t at = plan_.offset(group, chunk);
      kernels_.gradient({.pass = fixed ? simd::NormGradientPass::fixed : simd::NormGradientPass::sums,
                         .run = plan_.run(chunk),
                         .mask = mask(group, chunk),
                         .alpha = args_.alpha,
                         .dy = args_.dy + at,
                         .dy2 = args_.dy2 ? args_.dy2 + at : nullptr,
                         .x = args_.x + at,
                         .g = args_.dy2 ? summed() + at
                              : fixed   ? d_residual(at)
                                        : nullptr,
                         .dx = args_.dx ? args_.dx + at : nullptr,
                         .mean = mean,
                         .scale = scales,
                         .sum_g = sum_g,
                         .sum_gx = sum_gx});
      plan_.fold(sum_g, g);
      plan_.fold(sum_gx, gx);
    }
  }

  void join_parts(std::int64_t group) const {
    double *g = sums_g(0, group), *gx = sums_gx(0, group);
    for (int part = 1; part < plan_.parts(); ++part) {
      const double *part_g = sums_g(part, group), *part_gx = sums_gx(part, group);
      for (std::int64_t i = 0; i < plan_.view().inner; ++i) g[i] += part_g[i], gx[i] += part_gx[i];
    }
  }

  void finish(int part, std::int64_t group) const {
    const ActivationView& view = plan_.view();
    const double *g = sums_g(part, group), *gx = sums_gx(part, group);
    const std::int64_t first = group * view.inner, lanes = std::min(view.inner, view.channels - first);
    for (std::int64_t i = 0; i < lanes; ++i) {
      const std::int64_t c = first + i;
      if (args_.dbeta) args_.dbeta[c] = static_cast<float>(g[i]);
      if (args_.dgamma) args_.dgamma[c] = static_cast<float>(gx[i] * static_cast<double>(args_.inv_std[c]));
    }
  }

  // dx = scale * g + slope * (x - mean) + shift, with slope = -scale * inv_std^2 * sum(g * (x - mean)) / count and
  // shift = -scale * sum(g) / count
  void gradient(int part, std::int64_t group, const LaneShare& share) const {
    const ActivationView& view = plan_.view();
    const int source = plan_.by_group() ? part : 0;
    const double* g = sums_g(source, group) - group * view.inner;
    const double* gx = sums_gx(source, group) - group * view.inner;
    const double count = static_cast<double>(view.outer * view.rows);
    const BatchNormScratch own = scratch(part);
    float *mean = own.tables[0], *scales = own.tables[3], *slope = own.tables[4], *shift = own.tables[5];
    plan_.expand(group, mean, [&](std::int64_t c) { return args_.mean[c]; });
    plan_.expand(group, scales, [&](std::int64_t c) { return static_cast<float>(scale(c)); });
    plan_.expand(group, slope, [&](std::int64_t c) {
      const double inv_std = static_cast<double>(args_.inv_std[c]);
      return static_cast<float>(-scale(c) * inv_std * inv_std * gx[c] / count);
    });
    plan_.expand(group, shift, [&](std::int64_t c) { return static_cast<float>(-scale(c) * g[c] / count); });
    // Backwards, since the last chunks are those still in cache.
    for (std::int64_t chunk = share.last_chunk - 1; chunk >= share.first_chunk; --chunk) {
      const std::int64_t at = plan_.offset(group, chunk);
      const bool second = args_.dy2 != nullptr;
      kernels_.gradient({.pass = simd::NormGradientPass::batch,
                         .run = plan_.run(chunk),
                         .mask = second ? simd::RunMask{} : mask(group, chunk),
                         .alpha = args_.alpha,
                         .dy = second ? summed() + at : args_.dy + at,
                         .x = args_.x + at,
                         .g = second ? nullptr : d_residual(at),
                         .dx = args_.dx + at,
                         .mean = mean,
                         .scale = scales,
                         .slope = slope,
                         .shift = shift});
    }
  }

  const LanePlan& plan_;
  const BatchNormBackward& args_;
  const simd::BatchNormKernels& kernels_;
};

// One share of dx = scale * dy + slope * (x - mean) + shift
void blend(const LanePlan& plan, const BatchNormBlend& args, int part) {
  const simd::BatchNormKernels& kernels = by_isa(args.isa, avx2::kBatchNorm, avx512::kBatchNorm);
  const BatchNormScratch own(plan, args.scratch, part);
  const LaneShare share = plan.share(part);
  for (std::int64_t group = share.first_group; group < share.last_group; ++group) {
    const float* const vectors[] = {args.mean, args.scale, args.slope, args.shift};
    for (std::size_t i = 0; i < 4; ++i)
      plan.expand(group, own.tables[i], [&](std::int64_t c) { return vectors[i][c]; });
    for (std::int64_t chunk = share.first_chunk; chunk < share.last_chunk; ++chunk) {
      const std::int64_t at = plan.offset(group, chunk);
      kernels.gradient({.pass = simd::NormGradientPass::batch,
                        .run = plan.run(chunk),
                        .mask = {},
                        .dy = args.dy + at,
                        .x = args.x + at,
                        .dx = args.dx + at,
                        .mean = own.tables[0],
                        .scale = own.tables[1],
                        .slope = own.tables[2],
                        .shift = own.tables[3]});
    }
  }
}

}  // namespace

void batch_norm_blend(const BatchNormBlend& args) {
  const LanePlan plan(args.view, args.isa, team_size());
  if (plan.view().elements() == 0) return;
  run_parts(plan.parts(), [&](int part) { blend(plan, args, part); });
}

void batch_norm_backward(const BatchNormBackward& args) {
  const LanePlan plan(args.view, args.isa, team_size());
  if (plan.view().elements() > 0) return Backward(plan, args).run();
  for (std::int64_t c = 0; c < args.view.channels; ++c) {
    if (args.dgamma) args.dgamma[c] = 0;
    if (args.dbeta) args.dbeta[c] = 0;
  }
}

}  // namespace belfry
