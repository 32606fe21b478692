#include "belfry/engine/cpu/kernel/kernel_dispatch.h"
#include "belfry/engine/cpu/kernel/strided_loop.h"
#include "belfry/engine/cpu/kernel/view.h"

namespace belfry {
namespace {

const KernelRegistration split_last_kernel = define_view_kernel("SplitLastAxis");
const KernelRegistration merge_last_kernel = define_view_kernel("MergeLastAxes");

// y[..., i, j] = x[..., i, j] where i - j <= lower and j - i <= upper, else 0
const KernelRegistration band_part_kernel = define_kernel("BandPart").in_place(0).make([](const KernelContext& c) {
  return make_for<AllTypes>(c, c.output().dtype, [&]<class T>() {
    const std::int64_t rows = c.output().shape[-2], columns = c.output().shape[-1];
    const std::int64_t lower = c.attributes->integer("lower"), upper = c.attributes->integer("upper");
    const std::int64_t all = columns == 0 ? 0 : c.output().elements() / columns;
    return simple_kernel([=](const Buffers& b, const Step&) {
      const T* x = b.in<T>(0);
      T* y = b.out<T>();
      parallel_for(all, kPointwiseGrain / std::max<std::int64_t>(columns, 1) + 1,
                   [=](std::int64_t begin, std::int64_t end) {
                     for (std::int64_t row = begin; row < end; ++row)
                       for (std::int64_t j = 0; j < columns; ++j) {
                         const std::int64_t i = row % rows;
                         const bool inside = (lower < 0 || i - j <= lower) && (upper < 0 || j - i <= upper);
                         y[row * columns + j] = inside ? x[row * columns + j] : T(0);
                       }
                   });
    });
  });
});

}  // namespace
}  // namespace belfry
