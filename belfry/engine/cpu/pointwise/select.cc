// Ops of three operands that broadcast.
#include "belfry/engine/cpu/kernel/kernel_dispatch.h"
#include "belfry/engine/cpu/kernel/strided_loop.h"

namespace belfry {
namespace {

StridedLoop<3> loop_of(const KernelContext& c) {
  const Shape& out = c.output().shape;
  return {out,
          {broadcast_strides(c.input(0).shape, out), broadcast_strides(c.input(1).shape, out),
           broadcast_strides(c.input(2).shape, out)}};
}

const KernelRegistration select_kernel =
    define_kernel("Select").in_place(1).in_place(2).make([](const KernelContext& c) {
      return make_for<AllTypes>(c, c.output().dtype, [&]<class T>() {
        return simple_kernel([loop = loop_of(c)](const Buffers& b, const Step&) {
          const bool* condition = b.in<bool>(0);
          const T *x = b.in<T>(1), *z = b.in<T>(2);
          T* y = b.out<T>();
          loop.run([&](std::int64_t at, const auto& offsets, std::int64_t count) {
            for (std::int64_t i = 0; i < count; ++i)
              y[at + i] = condition[offsets[0] + i * loop.step(0)] ? x[offsets[1] + i * loop.step(1)]
                                                                   : z[offsets[2] + i * loop.step(2)];
          });
        });
      });
    });

// NaN anywhere is kept.
const KernelRegistration clip_kernel = define_kernel("ClipByValue").in_place(0).make([](const KernelContext& c) {
  return make_for<Numbers>(c, c.output().dtype, [&]<class T>() {
    return simple_kernel([loop = loop_of(c)](const Buffers& b, const Step&) {
      const T *x = b.in<T>(0), *low = b.in<T>(1), *high = b.in<T>(2);
      T* y = b.out<T>();
      loop.run([&](std::int64_t at, const auto& offsets, std::int64_t count) {
        for (std::int64_t i = 0; i < count; ++i) {
          const T v = x[offsets[0] + i * loop.step(0)], l = low[offsets[1] + i * loop.step(1)],
                  h = high[offsets[2] + i * loop.step(2)];
          const T raised = v > l || v != v ? v : l;
          y[at + i] = raised < h || raised != raised ? raised : h;
        }
      });
    });
  });
});

}  // namespace
}  // namespace belfry
