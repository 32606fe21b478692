#include "belfry/engine/cpu/conv/bias_activation.h"

#include "belfry/base/parallel.h"
#include "belfry/engine/cpu/lanes/lane_plan.h"
#include "belfry/engine/cpu/lanes/lane_sums_simd.h"

namespace belfry {

void bias_activation(const BiasActivation& args) {
  const LanePlan plan(args.view, args.isa, team_size());
  if (plan.view().elements() == 0) return;
  const simd::LaneSumKernels& kernels = by_isa(args.isa, avx2::kLaneSums, avx512::kLaneSums);
  run_parts(plan.parts(), [&](int part) {
    float* table = reinterpret_cast<float*>(align_scratch(args.scratch)) + part * plan.table_floats();
    const LaneShare share = plan.share(part);
    for (std::int64_t group = share.first_group; group < share.last_group; ++group) {
      plan.expand(group, table, [&](std::int64_t c) { return args.bias[c]; });
      for (std::int64_t chunk = share.first_chunk; chunk < share.last_chunk; ++chunk)
        kernels.bias({.run = plan.run(chunk),
                      .x = args.x + plan.offset(group, chunk),
                      .values = table,
                      .relu = args.relu,
                      .alpha = args.alpha});
    }
  });
}

std::size_t bias_activation_scratch_bytes(const ActivationView& view, int team, Isa isa) {
  const LanePlan plan(view, isa, team);
  return static_cast<std::size_t>(plan.parts() * plan.table_floats()) * sizeof(float) + 64;
}

}  // namespace belfry
