// y = f(a, b) with NumPy's broadcasting.
#include "belfry/engine/cpu/pointwise/pointwise_kernels.h"
#include "belfry/engine/cpu/pointwise/row_kernels.h"

namespace belfry {
namespace {

const bool binary_kernels = for_rows<RowKind::binary>(
    []<class Row>(const Row& row) { define_binary_kernel<typename Row::Types>(row.name, row.zero_if, row.scalar); });
const bool comparison_kernels =
    for_rows<RowKind::comparison>([](const auto& row) { define_comparison_kernel(row.name, row.scalar); });

// Not an instruction of fused chains.
const KernelRegistration squared_difference_kernel =
    define_binary_kernel<Numbers>("SquaredDifference", ZeroIf::ab, [](auto a, auto b) {
      const auto d = wrapping_difference(a, b);
      return wrapping_product(d, d);
    });

}  // namespace
}  // namespace belfry
