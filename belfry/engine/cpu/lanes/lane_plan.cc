#include "belfry/engine/cpu/lanes/lane_plan.h"

#include <algorithm>
#include <numeric>

#include "belfry/base/parallel.h"

namespace belfry {
namespace {

constexpr std::int64_t kMostPeriods = 256;  // of a chunk: the length of a sum in float
constexpr std::int64_t kFewestPeriods = 16;
constexpr std::int64_t kChunksAPart = 8;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

ActivationView collapse(ActivationView view) {
  if (view.rows == 1) {
    view.inner *= view.groups;
    view.groups = 1;
  }
  if (view.groups == 1) {
    view.rows *= view.outer;
    view.outer = 1;
  }
  return view;
}

// Narrow rows are repeated until a period is a whole number of vectors; wide ones end in a partial vector each.
std::int64_t lane_period(std::int64_t inner, int width) {
  if (inner >= 4 * width) return inner;
  const std::int64_t whole = inner * width / std::gcd<std::int64_t>(inner, width);
  return whole * ceil_div(4 * width, whole);
}

}  // namespace

LanePlan::LanePlan(const ActivationView& view, Isa isa, int team) : view_(collapse(view)), width_(vector_width(isa)) {
  if (view_.elements() == 0) return;
  period_ = lane_period(view_.inner, width_);
  table_floats_ = ceil_div(period_, 16) * 16;
  slab_periods_ = ceil_div(view_.slab(), period_);
  parts_ = parts_worth(view_.elements() * 4, team);
  by_group_ = ceil_div(view_.groups, parts_) * parts_ * 4 <= view_.groups * 5;

  const std::int64_t sharing = by_group_ ? 1 : parts_ * kChunksAPart;
  const std::int64_t periods = std::clamp(view_.outer * slab_periods_ / sharing, kFewestPeriods, kMostPeriods);
  chunks_a_slab_ = ceil_div(slab_periods_, periods);
  chunk_periods_ = ceil_div(slab_periods_, chunks_a_slab_);
  if (chunks_a_slab_ == 1) slabs_a_chunk_ = periods / slab_periods_;
  chunks_ = chunks_a_slab_ == 1 ? ceil_div(view_.outer, slabs_a_chunk_) : view_.outer * chunks_a_slab_;
}

LaneShare LanePlan::share(int part) const {
  if (by_group_) return {view_.groups * part / parts_, view_.groups * (part + 1) / parts_, 0, chunks_};
  return {0, view_.groups, chunks_ * part / parts_, chunks_ * (part + 1) / parts_};
}

std::int64_t LanePlan::first_slab(std::int64_t chunk) const {
  return chunks_a_slab_ == 1 ? chunk * slabs_a_chunk_ : chunk / chunks_a_slab_;
}

std::int64_t LanePlan::first_float(std::int64_t chunk) const {
  return chunk % chunks_a_slab_ * chunk_periods_ * period_;
}

simd::Run LanePlan::run(std::int64_t chunk) const {
  const std::int64_t begin = first_float(chunk);
  return {.slabs = std::min(slabs_a_chunk_, view_.outer - first_slab(chunk)),
          .stride = view_.groups * view_.slab(),
          .length = std::max<std::int64_t>(0, std::min(chunk_periods_ * period_, view_.slab() - begin)),
          .period = period_};
}

std::int64_t LanePlan::rows(std::int64_t chunk) const {
  const simd::Run part = run(chunk);
  return part.slabs * part.length / view_.inner;
}

std::int64_t LanePlan::offset(std::int64_t group, std::int64_t chunk) const {
  return (first_slab(chunk) * view_.groups + group) * view_.slab() + first_float(chunk);
}

simd::RunMask LanePlan::mask(std::uint8_t* bits, std::int64_t group, std::int64_t chunk) const {
  if (bits == nullptr) return {};
  const std::int64_t period_bytes = ceil_div(period_, width_) * width_ / 8, slab_bytes = slab_periods_ * period_bytes;
  const std::int64_t slab = first_slab(chunk) * view_.groups + group;
  return {.bits = bits + slab * slab_bytes + first_float(chunk) / period_ * period_bytes,
          .stride = view_.groups * slab_bytes,
          .period_stride = period_bytes};
}

std::size_t LanePlan::mask_bytes() const {
  if (view_.elements() == 0) return 0;
  return static_cast<std::size_t>(view_.outer * view_.groups * slab_periods_ * ceil_div(period_, width_) * width_ / 8);
}

void LanePlan::expand(std::int64_t group, float* table, FunctionRef<float(std::int64_t)> value) const {
  const std::int64_t first = group * view_.inner;
  for (std::int64_t i = 0; i < view_.inner; ++i) table[i] = first + i < view_.channels ? value(first + i) : 0.f;
  for (std::int64_t i = view_.inner; i < period_; ++i) table[i] = table[i - view_.inner];
  std::fill(table + period_, table + table_floats_, 0.f);
}

void LanePlan::fold(float* table, double* sums) const {
  std::int64_t lanes = period_;
  for (; lanes / view_.inner % 2 == 0; lanes /= 2) {
    for (std::int64_t i = 0; i < lanes / 2; ++i) table[i] += table[lanes / 2 + i];
  }
  for (std::int64_t begin = 0; begin < lanes; begin += view_.inner) {
    for (std::int64_t i = 0; i < view_.inner; ++i) sums[i] += table[begin + i];
  }
}

int parts_worth(std::int64_t bytes, int team) {
  return static_cast<int>(std::clamp<std::int64_t>(bytes / 65536, 1, std::max(1, team)));
}

void run_parts(int parts, FunctionRef<void(int)> body) {
  if (parts <= 1) return body(0);
  parallel_parts(parts, [&](int thread, int threads) {
    for (int part = thread; part < parts; part += threads) body(part);
  });
}

void for_each_slab(std::int64_t slabs, std::int64_t rows, int parts, FunctionRef<void(const SlabRows&)> body) {
  const std::int64_t all = slabs * rows;
  if (all == 0) return;
  run_parts(parts, [&](int part) {
    const std::int64_t last = all * (part + 1) / parts;
    for (std::int64_t at = all * part / parts; at < last;) {
      const std::int64_t slab = at / rows, end = std::min(last, (slab + 1) * rows);
      body({.part = part, .slab = slab, .begin = at - slab * rows, .end = end - slab * rows});
      at = end;
    }
  });
}

}  // namespace belfry
