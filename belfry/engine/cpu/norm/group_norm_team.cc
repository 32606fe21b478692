#include "belfry/engine/cpu/norm/group_norm_team.h"

#include <algorithm>
#include <cmath>

#include "belfry/base/parallel.h"
#include "belfry/engine/cpu/norm/batch_norm_scratch.h"
#include "belfry/engine/cpu/norm/batch_norm_simd.h"

namespace belfry {
namespace {

ActivationView one_example(const ActivationView& view) {
  ActivationView out = view;
  out.outer = 1;
  return out;
}

int parts_of(const ActivationView& view, int team) {
  return static_cast<int>(std::min<std::int64_t>(parts_worth(view.elements() * 4, team), view.outer));
}

// Shared by both directions: an example takes batch norm's passes over its channels, whose sums are joined by group.
class Examples {
 public:
  Examples(const ActivationView& view, std::int64_t norm_groups, void* scratch, Isa isa)
      : view_(view),
        plan_(one_example(view), isa, 1),
        kernels_(by_isa(isa, avx2::kBatchNorm, avx512::kBatchNorm)),
        norm_groups_(norm_groups),
        depth_(view.channels / norm_groups),
        scratch_(scratch) {}

 protected:
  // body(example, scratch) for all, distributed over the team
  template <class Body>
  void for_each(Body body) const {
    const int parts = parts_of(view_, team_size());
    run_parts(parts, [&](int part) {
      const BatchNormScratch scratch(plan_, scratch_, part);
      for (std::int64_t n = view_.outer * part / parts; n < view_.outer * (part + 1) / parts; ++n) body(n, scratch);
    });
  }
  // body(group of the layout, chunk, offset of its first float) for the whole of example n
  template <class Body>
  void for_each_chunk(std::int64_t n, std::int64_t group, Body body) const {
    const LaneShare share = plan_.share(0);
    for (std::int64_t chunk = share.first_chunk; chunk < share.last_chunk; ++chunk)
      body(chunk, n * view_.groups * view_.slab() + plan_.offset(group, chunk));
  }
  // table[lane] = values[group of the channel]
  template <class Values>
  void expand(std::int64_t group, float* table, const Values& values) const {
    plan_.expand(group, table, [&](std::int64_t c) { return static_cast<float>(values(c)); });
  }
  double* channel_sums(double* all, std::int64_t group) const { return all + group * plan_.view().inner; }
  double count() const { return static_cast<double>(depth_ * view_.rows); }

  ActivationView view_;
  LanePlan plan_;
  const simd::BatchNormKernels& kernels_;
  std::int64_t norm_groups_, depth_;
  void* scratch_;
};

class ForwardInGroups : Examples {
 public:
  explicit ForwardInGroups(const GroupNormForward& args)
      : Examples(args.view, args.norm_groups, args.scratch, args.isa), args_(args) {}

  void run() const {
    for_each([&](std::int64_t n, const BatchNormScratch& scratch) {
      float *mean = args_.mean + n * norm_groups_, *inv_std = args_.inv_std + n * norm_groups_;
      sums_around(n, scratch, [](std::int64_t) { return 0.f; });
      for (std::int64_t g = 0; g < norm_groups_; ++g) mean[g] = static_cast<float>(sum_of(scratch.first, g) / count());
      // Around the rounded mean: the remaining sum corrects the squares.
      sums_around(n, scratch, [&](std::int64_t c) { return mean[c / depth_]; });
      for (std::int64_t g = 0; g < norm_groups_; ++g) {
        const double rest = sum_of(scratch.first, g), squares = sum_of(scratch.second, g) - rest * rest / count();
        inv_std[g] = static_cast<float>(1 / std::sqrt(std::max(squares, 0.0) / count() + args_.epsilon));
      }
      normalize(n, scratch, mean, inv_std);
    });
  }

 private:
  double sum_of(const double* channels, std::int64_t g) const {
    double sum = 0;
    for (std::int64_t c = g * depth_; c < (g + 1) * depth_; ++c) sum += channels[c];
    return sum;
  }

  // first = sum(x - center), second = sum((x - center)^2) by channel
  template <class Center>
  void sums_around(std::int64_t n, const BatchNormScratch& scratch, Center center) const {
    std::fill_n(scratch.first, plan_.view().padded_channels(), 0.0);
    std::fill_n(scratch.second, plan_.view().padded_channels(), 0.0);
    for (std::int64_t group = 0; group < plan_.view().groups; ++group) {
      expand(group, scratch.tables[0], center);
      for_each_chunk(n, group, [&](std::int64_t chunk, std::int64_t at) {
        kernels_.moments({plan_.run(chunk), args_.x + at, scratch.tables[0], scratch.tables[1], scratch.tables[2]});
        plan_.fold(scratch.tables[1], channel_sums(scratch.first, group));
        plan_.fold(scratch.tables[2], channel_sums(scratch.second, group));
      });
    }
  }

  void normalize(std::int64_t n, const BatchNormScratch& scratch, const float* mean, const float* inv_std) const {
    for (std::int64_t group = 0; group < plan_.view().groups; ++group) {
      expand(group, scratch.tables[0], [&](std::int64_t c) { return mean[c / depth_]; });
      expand(group, scratch.tables[1], [&](std::int64_t c) { return args_.gamma[c] * inv_std[c / depth_]; });
      expand(group, scratch.tables[2], [&](std::int64_t c) { return args_.beta[c]; });
      for_each_chunk(n, group, [&](std::int64_t chunk, std::int64_t at) {
        kernels_.normalize({.run = plan_.run(chunk),
                            .mask = {},
                            .x = args_.x + at,
                            .y = args_.y + at,
                            .mean = scratch.tables[0],
                            .scale = scratch.tables[1],
                            .shift = scratch.tables[2]});
      });
    }
  }

  const GroupNormForward& args_;
};

class BackwardInGroups : Examples {
 public:
  explicit BackwardInGroups(const GroupNormBackward& args)
      : Examples(args.view, args.norm_groups, args.scratch, args.isa), args_(args) {
    const auto parts = static_cast<std::size_t>(parts_of(view_, team_size()));
    sums_ = reinterpret_cast<double*>(align_scratch(args.scratch) + parts * BatchNormScratch::bytes(plan_));
  }

  void run() const {
    for_each([&](std::int64_t n, const BatchNormScratch& scratch) {
      const float *mean = args_.mean + n * norm_groups_, *inv_std = args_.inv_std + n * norm_groups_;
      double *sum_g = sums_ + 2 * n * view_.channels, *sum_gx = sum_g + view_.channels;  // of this example, kept
      sums(n, scratch, mean);
      for (std::int64_t c = 0; c < view_.channels; ++c) {
        sum_g[c] = scratch.first[c];
        sum_gx[c] = scratch.second[c] * static_cast<double>(inv_std[c / depth_]);
      }
      // E[g] and E[g xhat] take the place of the sums.
      for (std::int64_t g = 0; g < norm_groups_; ++g) {
        double first = 0, second = 0;
        for (std::int64_t c = g * depth_; c < (g + 1) * depth_; ++c) {
          first += sum_g[c] * static_cast<double>(args_.gamma[c]);
          second += sum_gx[c] * static_cast<double>(args_.gamma[c]);
        }
        scratch.first[g] = first / count();
        scratch.second[g] = second / count();
      }
      gradient(n, scratch, mean, inv_std);
    });
    for (std::int64_t c = 0; c < view_.channels; ++c) {
      double gamma = 0, beta = 0;
      for (std::int64_t n = 0; n < view_.outer; ++n) {
        beta += sums_[2 * n * view_.channels + c];
        gamma += sums_[(2 * n + 1) * view_.channels + c];
      }
      args_.dgamma[c] = static_cast<float>(gamma);
      args_.dbeta[c] = static_cast<float>(beta);
    }
  }

 private:
  // first = sum(dy), second = sum(dy (x - mean)) by channel
  void sums(std::int64_t n, const BatchNormScratch& scratch, const float* mean) const {
    std::fill_n(scratch.first, plan_.view().padded_channels(), 0.0);
    std::fill_n(scratch.second, plan_.view().padded_channels(), 0.0);
    for (std::int64_t group = 0; group < plan_.view().groups; ++group) {
      expand(group, scratch.tables[0], [&](std::int64_t c) { return mean[c / depth_]; });
      for_each_chunk(n, group, [&](std::int64_t chunk, std::int64_t at) {
        kernels_.gradient({.pass = simd::NormGradientPass::sums,
                           .run = plan_.run(chunk),
                           .mask = {},
                           .dy = args_.dy + at,
                           .x = args_.x + at,
                           .mean = scratch.tables[0],
                           .sum_g = scratch.tables[1],
                           .sum_gx = scratch.tables[2]});
        plan_.fold(scratch.tables[1], channel_sums(scratch.first, group));
        plan_.fold(scratch.tables[2], channel_sums(scratch.second, group));
      });
    }
  }

  // dx = scale dy + slope (x - mean) + shift
  void gradient(std::int64_t n, const BatchNormScratch& scratch, const float* mean, const float* inv_std) const {
    const auto of = [&](std::int64_t c) { return static_cast<double>(inv_std[c / depth_]); };
    for (std::int64_t group = 0; group < plan_.view().groups; ++group) {
      float* const* tables = scratch.tables;
      expand(group, tables[0], [&](std::int64_t c) { return mean[c / depth_]; });
      expand(group, tables[1], [&](std::int64_t c) { return of(c) * static_cast<double>(args_.gamma[c]); });
      expand(group, tables[2], [&](std::int64_t c) { return -of(c) * of(c) * scratch.second[c / depth_]; });
      expand(group, tables[3], [&](std::int64_t c) { return -of(c) * scratch.first[c / depth_]; });
      for_each_chunk(n, group, [&](std::int64_t chunk, std::int64_t at) {
        kernels_.gradient({.pass = simd::NormGradientPass::batch,
                           .run = plan_.run(chunk),
                           .mask = {},
                           .dy = args_.dy + at,
                           .x = args_.x + at,
                           .dx = args_.dx + at,
                           .mean = tables[0],
                           .scale = tables[1],
                           .slope = tables[2],
                           .shift = tables[3]});
      });
    }
  }

  const GroupNormBackward& args_;
  double* sums_ = nullptr;  // [outer][2][channels]
};

}  // namespace

void group_norm_forward(const GroupNormForward& args) { ForwardInGroups(args).run(); }
void group_norm_backward(const GroupNormBackward& args) { BackwardInGroups(args).run(); }

std::size_t group_norm_scratch_bytes(const ActivationView& view, int team, Isa isa) {
  const auto parts = static_cast<std::size_t>(parts_of(view, team));
  return 64 + parts * BatchNormScratch::bytes(LanePlan(one_example(view), isa, 1)) +
         static_cast<std::size_t>(2 * view.outer * view.channels) * sizeof(double);
}

}  // namespace belfry
