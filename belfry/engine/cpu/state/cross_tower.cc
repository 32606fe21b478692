// A sum across towers: each device computes it, always in the order of towers, so all get the same bits.
#include "belfry/engine/cpu/kernel/kernel_dispatch.h"

namespace belfry {
namespace {

// Statistics, a few numbers per channel: not worth a team.
const KernelRegistration sum_kernel = define_kernel("CrossTowerSum").make([](const KernelContext& c) {
  return make_for<Floats>(c, c.output().dtype, [&]<class T>() {
    return simple_kernel([n = c.output().elements()](const Buffers& b, const Step&) {
      T* sum = b.out<T>();
      for (std::int64_t i = 0; i < n; ++i) sum[i] = b.in<T>(0)[i];
      for (std::size_t k = 1; k < b.inputs.size(); ++k) {
        const T* x = b.in<T>(static_cast<int>(k));
        for (std::int64_t i = 0; i < n; ++i) sum[i] += x[i];
      }
    });
  });
});

}  // namespace
}  // namespace belfry
