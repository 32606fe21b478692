// Leaky relu in any layout and both floating types; f32 usually runs as part of a fused program or a neighbour.
#include "belfry/engine/cpu/kernel/kernel_dispatch.h"
#include "belfry/engine/cpu/kernel/strided_loop.h"

namespace belfry {
namespace {

// In both, input `sign` decides and input 0 passes, whole or times alpha.
KernelRegistration define_leaky(const char* op, int sign) {
  KernelDefinition definition = define_kernel(op).layout_blind(true).in_place(0);
  if (sign != 0) definition.in_place(sign);
  return definition.make([sign](const KernelContext& c) {
    return make_for<Floats>(c, c.output().dtype, [&]<class T>() {
      const auto n = static_cast<std::int64_t>(c.output().bytes() / sizeof(T));
      const T alpha = static_cast<T>(c.attributes->get<double>("alpha"));
      return simple_kernel([n, alpha, sign](const Buffers& b, const Step&) {
        const T *x = b.in<T>(0), *by = b.in<T>(sign);
        T* y = b.out<T>();
        for_each_element(n, [=](std::int64_t i) { y[i] = by[i] > 0 ? x[i] : alpha * x[i]; });
      });
    });
  });
}

const KernelRegistration leaky_relu_kernel = define_leaky("LeakyRelu", 0);
const KernelRegistration leaky_relu_grad_kernel = define_leaky("LeakyReluGrad", 1);

}  // namespace
}  // namespace belfry
