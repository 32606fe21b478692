#include "belfry/engine/cpu/optimizer/optimizer_rows.h"

#include <algorithm>

#include "belfry/base/parallel.h"

namespace belfry {
namespace {

constexpr std::int64_t kRowsGrain = 16384;  // weights a thread must have to be worth waking

template <class T, class Update>
void update_rows(const UpdateStep& step, const UpdateBuffers<T>& buffers, const UpdatedRows& rows, Update update) {
  const std::int64_t grain = std::max<std::int64_t>(1, kRowsGrain / std::max<std::int64_t>(1, rows.width));
  parallel_for(rows.count, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) update(step, at_row(buffers, rows, k), 0, rows.width);
  });
}

}  // namespace

void apply_update(const UpdateStep& step, const UpdateBuffers<float>& buffers, const UpdatedRows& rows, Isa isa) {
  update_rows(step, buffers, rows, optimizer_kernels(isa).update);
}

void apply_update(const UpdateStep& step, const UpdateBuffers<double>& buffers, const UpdatedRows& rows, Isa isa) {
  update_rows(step, buffers, rows, optimizer_kernels(isa).update_f64);
}

}  // namespace belfry
