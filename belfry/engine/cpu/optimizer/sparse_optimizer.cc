// Updates the rows of a table that a sparse gradient contains. ids and rows are the last two inputs before a scale; ids
// end with -1.
#include <algorithm>

#include "belfry/engine/cpu/kernel/indices.h"
#include "belfry/engine/cpu/kernel/kernel_dispatch.h"
#include "belfry/engine/cpu/optimizer/update_kernels.h"
#include "belfry/engine/cpu/optimizer/update_norms_team.h"

namespace belfry {
namespace {

// The table, and the ids [capacity] of which some are used.
struct Table {
  Table(const KernelContext& c, int ids)
      : width(c.input(0).shape.slice(1, c.input(0).shape.rank()).elements()),
        ids_input(ids),
        range{.shape = c.input(ids).shape, .first = -1, .end = c.input(0).shape[0], .origin = c.origin} {}

  // The rows of the ids that come before the first -1.
  template <class Index>
  UpdatedRows rows(const Buffers& b) const {
    const Index* ids = b.in<Index>(ids_input);
    range.check(ids);
    return {.ids = ids,
            .wide = sizeof(Index) == sizeof(std::int64_t),
            .count = std::find(ids, ids + range.shape[0], Index{-1}) - ids,
            .width = width};
  }

  std::int64_t width;
  int ids_input;
  IndexRange range;
};

template <class T, class Index>
KernelPtr make_rows(const KernelContext& c, UpdatePlan plan) {
  const Table table(c, plan.first_after_scalars());
  const std::size_t scratch = plan.takes_norms() ? norm_scratch_bytes(table.range.shape[0], table.width) : 0;
  return simple_kernel(
      [plan = std::move(plan), table](const Buffers& b, const Step&) {
        const UpdatedRows rows = table.rows<Index>(b);
        const UpdateBuffers<T> operands = plan.operands<T>(b, table.ids_input + 1);
        UpdateStep step = plan.step(b);
        if (plan.takes_norms()) {
          const UpdateNorms norms = update_norms(step, operands, rows, b.scratch);
          step = plan.trusted(step, norms.weights, norms.direction);
        }
        apply_update(step, operands, rows);
      },
      scratch);
}

}  // namespace

KernelPtr make_rows_update(const KernelContext& c, const UpdateKernels& kernels) {
  const UpdatePlan plan(c, kernels);
  return make_for_index(c.input(plan.first_after_scalars()).dtype, [&]<class Index>() {
    return make_for<Floats>(c, c.output().dtype, [&]<class T>() { return make_rows<T, Index>(c, plan); });
  });
}

}  // namespace belfry
