#include "belfry/engine/cpu/kernel/kernel_dispatch.h"
#include "belfry/engine/cpu/kernel/strided_loop.h"
#include "belfry/engine/cpu/kernel/view.h"

namespace belfry {
namespace {

const KernelRegistration reshape_kernel = define_view_kernel("Reshape");
const KernelRegistration batch_flatten_kernel = define_view_kernel("BatchFlatten");
const KernelRegistration expand_dims_kernel = define_view_kernel("ExpandDims");
const KernelRegistration squeeze_kernel = define_view_kernel("Squeeze");

const KernelRegistration transpose_kernel = define_kernel("Transpose").make([](const KernelContext& c) {
  return make_for<AllTypes>(c, c.output().dtype, [&]<class T>() {
    const Ints& permutation = c.attributes->get<Ints>("perm");
    const Strides dense = dense_strides(c.input(0).shape);
    Strides strides{};
    for (std::size_t i = 0; i < permutation.size(); ++i) strides[i] = dense[static_cast<std::size_t>(permutation[i])];
    const StridedLoop<1> loop(c.output().shape, {strides});
    return simple_kernel([loop](const Buffers& b, const Step&) {
      const T* x = b.in<T>(0);
      T* y = b.out<T>();
      loop.run([&](std::int64_t at, const auto& offsets, std::int64_t count) {
        const T* from = x + offsets[0];
        for (std::int64_t i = 0; i < count; ++i) y[at + i] = from[i * loop.step(0)];
      });
    });
  });
});

}  // namespace
}  // namespace belfry
