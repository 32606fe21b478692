// y[i] = f(x[i]), in any layout: the loop runs over the physical elements.
#include <algorithm>

#include "belfry/engine/cpu/pointwise/pointwise_kernels.h"
#include "belfry/engine/cpu/pointwise/row_kernels.h"

namespace belfry {
namespace {

// y[i] = value, whatever x holds: when the result is folded into a constant, x is uninitialised memory.
KernelRegistration define_like_kernel(const char* op, int value) {
  return define_kernel(op).layout_blind(value == 0).in_place(0).make([value](const KernelContext& c) {
    return make_for<AllTypes>(c, c.output().dtype, [&]<class T>() {
      const auto n = static_cast<std::int64_t>(c.output().bytes() / sizeof(T));
      return simple_kernel([n, value = static_cast<T>(value)](const Buffers& b, const Step&) {
        T* y = b.out<T>();
        parallel_for(n, kPointwiseGrain,
                     [=](std::int64_t begin, std::int64_t end) { std::fill(y + begin, y + end, value); });
      });
    });
  });
}

const KernelRegistration zeros_like_kernel = define_like_kernel("ZerosLike", 0);
const KernelRegistration ones_like_kernel = define_like_kernel("OnesLike", 1);

const bool unary_kernels = for_rows<RowKind::unary>(
    []<class Row>(const Row& row) { define_unary_kernel<typename Row::Types>(row.name, row.zero_if, row.scalar); });

}  // namespace
}  // namespace belfry
