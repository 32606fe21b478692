#include "belfry/engine/cpu/conv/bias_gradient.h"

#include <algorithm>

#include "belfry/base/parallel.h"
#include "belfry/engine/cpu/lanes/lane_plan.h"
#include "belfry/engine/cpu/lanes/lane_sums_simd.h"

namespace belfry {

namespace {

std::size_t channel_bytes(const LanePlan& plan) {
  return cache_lines(static_cast<std::size_t>(plan.view().padded_channels()) * sizeof(double));
}

std::size_t part_bytes(const LanePlan& plan) {
  return channel_bytes(plan) + static_cast<std::size_t>(plan.table_floats()) * sizeof(float);
}

// Adds up the tables that sum_chunk(run, offset, table) fills for each chunk, into dbias (if wanted).
void sum_by_channel(const LanePlan& plan, void* scratch, float* dbias,
                    FunctionRef<void(const simd::Run&, std::int64_t, float*)> sum_chunk) {
  const ActivationView& view = plan.view();
  if (view.elements() == 0) {
    if (dbias) std::fill(dbias, dbias + view.channels, 0.f);
    return;
  }
  const auto totals = [&](int part) {
    return reinterpret_cast<double*>(align_scratch(scratch) + static_cast<std::size_t>(part) * part_bytes(plan));
  };
  run_parts(plan.parts(), [&](int part) {
    const LaneShare share = plan.share(part);
    double* total = totals(part);
    float* table = reinterpret_cast<float*>(reinterpret_cast<std::byte*>(total) + channel_bytes(plan));
    std::fill(total, total + view.padded_channels(), 0.0);
    for (std::int64_t group = share.first_group; group < share.last_group; ++group) {
      for (std::int64_t chunk = share.first_chunk; chunk < share.last_chunk; ++chunk) {
        sum_chunk(plan.run(chunk), plan.offset(group, chunk), table);
        plan.fold(table, total + group * view.inner);
      }
    }
  });
  if (dbias == nullptr) return;
  for (std::int64_t c = 0; c < view.channels; ++c) {
    double sum = 0;
    for (int part = 0; part < plan.parts(); ++part) sum += totals(part)[c];
    dbias[c] = static_cast<float>(sum);
  }
}

}  // namespace

void bias_gradient(const BiasGradient& args) {
  const LanePlan plan(args.view, args.isa, team_size());
  const simd::LaneSumKernels& kernels = by_isa(args.isa, avx2::kLaneSums, avx512::kLaneSums);
  sum_by_channel(plan, args.scratch, args.dbias, [&](const simd::Run& run, std::int64_t at, float* table) {
    kernels.sums({run, args.dy + at, table});
  });
}

void relu_backward_bias(const ReluBackwardBias& args) {
  const LanePlan plan(args.view, args.isa, team_size());
  const simd::LaneSumKernels& kernels = by_isa(args.isa, avx2::kLaneSums, avx512::kLaneSums);
  sum_by_channel(plan, args.scratch, args.dbias, [&](const simd::Run& run, std::int64_t at, float* table) {
    kernels.relu_gradient_sums({run, args.dy + at, args.y + at, args.dx + at, table});
  });
}

std::size_t bias_gradient_scratch_bytes(const ActivationView& view, int team, Isa isa) {
  const LanePlan plan(view, isa, team);
  return static_cast<std::size_t>(plan.parts()) * part_bytes(plan) + 64;
}

}  // namespace belfry
