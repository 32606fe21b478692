// Pooling over all rows: the lane kernels' sums and fills, one image's group at a time.
#include <algorithm>

#include "belfry/base/parallel.h"
#include "belfry/engine/cpu/lanes/lane_plan.h"
#include "belfry/engine/cpu/lanes/lane_sums_simd.h"
#include "belfry/engine/cpu/pool/pool_team.h"

namespace belfry {
namespace {

LanePlan image_plan(const ActivationView& view, Isa isa) {
  ActivationView image = view;
  image.outer = 1;
  return LanePlan(image, isa, 1);
}

std::size_t part_bytes(const LanePlan& plan) {
  return cache_lines(static_cast<std::size_t>(plan.view().inner) * sizeof(double)) +
         static_cast<std::size_t>(plan.table_floats()) * sizeof(float);
}

struct Scratch {
  double* sums;
  float* table;
  Scratch(const LanePlan& plan, void* scratch, int part) {
    std::byte* at = align_scratch(scratch) + static_cast<std::size_t>(part) * part_bytes(plan);
    table = reinterpret_cast<float*>(at);
    sums = reinterpret_cast<double*>(at + static_cast<std::size_t>(plan.table_floats()) * sizeof(float));
  }
};

// body(group of the plan, offset of its image in the data, offset of its lanes in the means, scratch)
void for_each_group(const ActivationView& view, const LanePlan& plan, void* scratch,
                    FunctionRef<void(std::int64_t, std::int64_t, std::int64_t, const Scratch&)> body) {
  const std::int64_t groups = plan.view().groups, all = view.outer * groups;
  const int parts = parts_worth(view.elements() * 4, team_size());
  run_parts(parts, [&](int part) {
    const Scratch own(plan, scratch, part);
    for (std::int64_t i = all * part / parts; i < all * (part + 1) / parts; ++i) {
      body(i % groups, i / groups * view.groups * view.slab(), i * plan.view().inner, own);
    }
  });
}

}  // namespace

void global_average_forward(const GlobalAverageForward& args) {
  const LanePlan plan = image_plan(args.view, args.isa);
  if (args.view.elements() == 0) {
    std::fill_n(args.y, args.view.outer * args.view.padded_channels(), 0.f);
    return;
  }
  const simd::LaneSumKernels& kernels = by_isa(args.isa, avx2::kLaneSums, avx512::kLaneSums);
  const std::int64_t inner = plan.view().inner;
  const double scale = 1 / static_cast<double>(args.view.rows);
  for_each_group(args.view, plan, args.scratch,
                 [&](std::int64_t group, std::int64_t image, std::int64_t mean, const Scratch& own) {
                   std::fill_n(own.sums, inner, 0.0);
                   const LaneShare share = plan.share(0);
                   for (std::int64_t chunk = share.first_chunk; chunk < share.last_chunk; ++chunk) {
                     kernels.sums({plan.run(chunk), args.x + image + plan.offset(group, chunk), own.table});
                     plan.fold(own.table, own.sums);
                   }
                   for (std::int64_t i = 0; i < inner; ++i) args.y[mean + i] = static_cast<float>(own.sums[i] * scale);
                 });
}

void global_average_backward(const GlobalAverageBackward& args) {
  if (args.view.elements() == 0) return;
  const LanePlan plan = image_plan(args.view, args.isa);
  const simd::LaneSumKernels& kernels = by_isa(args.isa, avx2::kLaneSums, avx512::kLaneSums);
  const float scale = 1 / static_cast<float>(args.view.rows);
  for_each_group(args.view, plan, args.scratch,
                 [&](std::int64_t group, std::int64_t image, std::int64_t mean, const Scratch& own) {
                   const float* dy = args.dy + mean - group * plan.view().inner;
                   plan.expand(group, own.table, [&](std::int64_t c) { return dy[c] * scale; });
                   const LaneShare share = plan.share(0);
                   for (std::int64_t chunk = share.first_chunk; chunk < share.last_chunk; ++chunk) {
                     kernels.fill({plan.run(chunk), args.dx + image + plan.offset(group, chunk), own.table});
                   }
                 });
}

std::size_t global_average_scratch_bytes(const ActivationView& view, int team, Isa isa) {
  const LanePlan plan = image_plan(view, isa);
  return static_cast<std::size_t>(parts_worth(view.elements() * 4, team)) * part_bytes(plan) + 64;
}

}  // namespace belfry
