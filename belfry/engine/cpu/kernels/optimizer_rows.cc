#include "belfry/engine/cpu/kernels/optimizer_rows.h"

#include <algorithm>

#include "belfry/base/parallel.h"

namespace belfry {
namespace {

constexpr std::int64_t kGrain = 16384;  // weights a thread must have to be worth waking

float* at_row(float* first, std::int64_t offset) { return first == nullptr ? nullptr : first + offset; }

template <class Id>
void update_rows(const UpdateStep& step, const UpdateBuffers& buffers, const UpdatedRows& rows, Isa isa) {
  const auto* ids = static_cast<const Id*>(rows.ids);
  const auto update = by_isa(isa, avx2::kOptimizer, avx512::kOptimizer).update;
  const std::int64_t grain = std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, rows.width));
  parallel_for(rows.count, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) {
      const std::int64_t offset = static_cast<std::int64_t>(ids[k]) * rows.width;
      const UpdateBuffers row{.weights = buffers.weights + offset,
                              .gradient = buffers.gradient + k * rows.width,
                              .slot0 = at_row(buffers.slot0, offset),
                              .slot1 = at_row(buffers.slot1, offset)};
      update(step, row, 0, rows.width);
    }
  });
}

}  // namespace

void apply_update(const UpdateStep& step, const UpdateBuffers& buffers, const UpdatedRows& rows, Isa isa) {
  if (rows.wide)
    update_rows<std::int64_t>(step, buffers, rows, isa);
  else
    update_rows<std::int32_t>(step, buffers, rows, isa);
}

}  // namespace belfry
