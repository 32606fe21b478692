// The forward pass of batch normalisation.
#include <algorithm>
#include <cmath>

#include "belfry/base/parallel.h"
#include "belfry/engine/cpu/norm/batch_norm_scratch.h"
#include "belfry/engine/cpu/norm/batch_norm_simd.h"
#include "belfry/engine/cpu/norm/batch_norm_team.h"

namespace belfry {

namespace {

// Chan et al.: joins (count_b, mean_b, m2_b) to (count, mean, m2), where m2 is the sum of squared deviations.
struct Join {
  double share, weight;
  Join(double count, double count_b)
      : share(count_b / (count + count_b)), weight(count * count_b / (count + count_b)) {}
  void operator()(double& mean, double& m2, double delta, double m2_b) const {
    mean += delta * share;
    m2 += m2_b + delta * delta * weight;
  }
};

class Forward {
 public:
  Forward(const LanePlan& plan, const BatchNormForward& args)
      : plan_(plan), args_(args), kernels_(by_isa(args.isa, avx2::kBatchNorm, avx512::kBatchNorm)) {}

  void run() const {
    run_parts(plan_.parts(), [&](int part) {
      const LaneShare share = plan_.share(part);
      for (std::int64_t group = share.first_group; group < share.last_group; ++group) {
        if (given()) {
          take_given(part, group);
        } else {
          const double count = moments(part, group, share);
          if (!plan_.by_group()) continue;
          finish(part, group, count);
        }
        if (args_.y) normalize(part, group, share, part);
      }
    });
    if (plan_.by_group() || given()) return;
    for (std::int64_t group = 0; group < plan_.view().groups; ++group) finish(0, group, join_parts(group));
    if (!args_.y) return;
    run_parts(plan_.parts(), [&](int part) {
      const LaneShare share = plan_.share(part);
      for (std::int64_t group = 0; group < share.last_group; ++group) normalize(part, group, share, 0);
    });
  }

 private:
  bool given() const { return args_.given_mean != nullptr; }
  // The channels of a group that are not padding.
  std::int64_t first_channel(std::int64_t group) const { return group * plan_.view().inner; }
  std::int64_t channels(std::int64_t group) const {
    return std::min(plan_.view().inner, plan_.view().channels - first_channel(group));
  }
  double inv_std(double variance) const { return 1 / std::sqrt(variance + static_cast<double>(args_.epsilon)); }

  double* means(int part, std::int64_t group) const {
    return BatchNormScratch(plan_, args_.scratch, part).first + group * plan_.view().inner;
  }
  double* m2s(int part, std::int64_t group) const {
    return BatchNormScratch(plan_, args_.scratch, part).second + group * plan_.view().inner;
  }

  // Sums of a chunk are taken around the mean of all chunks before it. If the chunk lies far off, the cancellation
  // loses only a rounding error of the term that joining it adds to m2, so it never matters.
  double moments(int part, std::int64_t group, const LaneShare& share) const {
    const BatchNormScratch scratch(plan_, args_.scratch, part);
    double *mean = means(part, group), *m2 = m2s(part, group);
    std::fill(mean, mean + plan_.view().inner, 0.0);
    std::fill(m2, m2 + plan_.view().inner, 0.0);
    double count = 0;
    for (std::int64_t chunk = share.first_chunk; chunk < share.last_chunk; ++chunk) {
      const double chunk_count = static_cast<double>(plan_.rows(chunk));
      if (chunk_count == 0) continue;
      const simd::BatchMoments args{plan_.run(chunk), args_.x + plan_.offset(group, chunk), scratch.tables[0],
                                    scratch.tables[1], scratch.tables[2]};
      if (count == 0) guess_mean(args, scratch, mean);
      expand_center(mean, scratch.tables[0]);
      kernels_.moments(args);
      join_chunk(Join(count, chunk_count), chunk_count, scratch, mean, m2);
      count += chunk_count;
    }
    return count;
  }

  // For the first chunk, the mean of its first rows is used instead: a share of it that is not tiny.
  void guess_mean(simd::BatchMoments args, const BatchNormScratch& scratch, double* mean) const {
    constexpr std::int64_t kPeriods = 16;
    args.run.slabs = 1;
    args.run.length = std::min(args.run.length, kPeriods * args.run.period);
    std::fill(scratch.tables[0], scratch.tables[0] + plan_.table_floats(), 0.f);
    kernels_.moments(args);
    plan_.fold(args.sum, mean);
    const double count = static_cast<double>(args.run.length / plan_.view().inner);
    for (std::int64_t i = 0; i < plan_.view().inner; ++i) mean[i] /= count;
  }

  void expand_center(const double* mean, float* center) const {
    const std::int64_t inner = plan_.view().inner;
    for (std::int64_t i = 0; i < inner; ++i) center[i] = static_cast<float>(mean[i]);
    for (std::int64_t at = inner; at < plan_.period(); at += inner) std::copy_n(center, inner, center + at);
    std::fill(center + plan_.period(), center + plan_.table_floats(), 0.f);
  }

  void join_chunk(const Join& join, double count, const BatchNormScratch& scratch, double* mean, double* m2) const {
    const std::int64_t inner = plan_.view().inner;
    const float* center = scratch.tables[0];
    double *sum = scratch.group_first, *square_sum = scratch.group_second;
    std::fill(sum, sum + inner, 0.0);
    std::fill(square_sum, square_sum + inner, 0.0);
    plan_.fold(scratch.tables[1], sum);
    plan_.fold(scratch.tables[2], square_sum);
    const double one_of = 1 / count;
    for (std::int64_t i = 0; i < inner; ++i) {
      const double from_center = sum[i] * one_of;
      const double delta = static_cast<double>(center[i]) - mean[i] + from_center;
      join(mean[i], m2[i], delta, std::max(0.0, square_sum[i] - sum[i] * from_center));
    }
  }

  double join_parts(std::int64_t group) const {
    double *mean = means(0, group), *m2 = m2s(0, group), count = count_of(0);
    for (int part = 1; part < plan_.parts(); ++part) {
      const double part_count = count_of(part);
      if (part_count == 0) continue;
      const double *part_mean = means(part, group), *part_m2 = m2s(part, group);
      const Join join(count, part_count);
      for (std::int64_t i = 0; i < plan_.view().inner; ++i) join(mean[i], m2[i], part_mean[i] - mean[i], part_m2[i]);
      count += part_count;
    }
    return count;
  }

  double count_of(int part) const {
    const LaneShare share = plan_.share(part);
    double count = 0;
    for (std::int64_t chunk = share.first_chunk; chunk < share.last_chunk; ++chunk) {
      count += static_cast<double>(plan_.rows(chunk));
    }
    return count;
  }

  // Leaves 1 / std in double where the squared deviations were.
  void finish(int part, std::int64_t group, double count) const {
    const double* mean = means(part, group);
    double* m2 = m2s(part, group);
    const std::int64_t first = first_channel(group);
    for (std::int64_t i = 0; i < channels(group); ++i) {
      if (args_.sum) {
        args_.sum[first + i] = mean[i] * count;
        args_.square_sum[first + i] = m2[i] + mean[i] * mean[i] * count;
      }
      const double variance = m2[i] / count;
      m2[i] = inv_std(variance);
      if (args_.mean) args_.mean[first + i] = static_cast<float>(mean[i]);
      if (args_.variance) args_.variance[first + i] = static_cast<float>(variance);
      if (args_.inv_std) args_.inv_std[first + i] = static_cast<float>(m2[i]);
    }
  }

  // The same if nothing has to be computed first.
  void take_given(int part, std::int64_t group) const {
    const float* variance = args_.given_variance + first_channel(group);
    for (std::int64_t i = 0; i < channels(group); ++i) m2s(part, group)[i] = inv_std(static_cast<double>(variance[i]));
  }

  // Writes y for one group's chunks, with the 1 / std that part `source` has.
  void normalize(int part, std::int64_t group, const LaneShare& share, int source) const {
    const double* inv_std = m2s(source, group) - first_channel(group);
    const float* mean = given() ? args_.given_mean : args_.mean;
    const BatchNormScratch scratch(plan_, args_.scratch, part);
    float* const* tables = scratch.tables;
    plan_.expand(group, tables[0], [&](std::int64_t c) { return mean[c]; });
    plan_.expand(group, tables[1], [&](std::int64_t c) {
      return static_cast<float>(static_cast<double>(value_or(args_.gamma, c, 1.f)) * inv_std[c]);
    });
    plan_.expand(group, tables[2], [&](std::int64_t c) { return value_or(args_.beta, c, 0.f); });
    // Backwards, since the last chunks are those still in cache.
    for (std::int64_t chunk = share.last_chunk - 1; chunk >= share.first_chunk; --chunk) {
      const std::int64_t at = plan_.offset(group, chunk);
      kernels_.normalize({.run = plan_.run(chunk),
                          .mask = plan_.mask(args_.mask, group, chunk),
                          .x = args_.x + at,
                          .residual = args_.residual ? args_.residual + at : nullptr,
                          .y = args_.y + at,
                          .mean = tables[0],
                          .scale = tables[1],
                          .shift = tables[2],
                          .relu = args_.relu,
                          .alpha = args_.alpha});
    }
  }

  const LanePlan& plan_;
  const BatchNormForward& args_;
  const simd::BatchNormKernels& kernels_;
};

}  // namespace

void batch_norm_forward(const BatchNormForward& args) {
  const LanePlan plan(args.view, args.isa, team_size());
  if (plan.view().elements() > 0) return Forward(plan, args).run();
  if (args.given_mean != nullptr) return;
  for (std::int64_t c = 0; c < args.view.channels; ++c) {
    if (args.sum) args.sum[c] = args.square_sum[c] = 0;
    if (args.mean) args.mean[c] = 0;
    if (args.variance) args.variance[c] = 0;
    if (args.inv_std) args.inv_std[c] = 1 / std::sqrt(args.epsilon);
  }
}

std::size_t batch_norm_scratch_bytes(const ActivationView& view, int team, Isa isa) {
  const LanePlan plan(view, isa, team);
  return static_cast<std::size_t>(plan.parts()) * BatchNormScratch::bytes(plan) + 64;
}

std::size_t batch_norm_mask_bytes(const ActivationView& view, Isa isa) { return LanePlan(view, isa, 1).mask_bytes(); }

}  // namespace belfry
