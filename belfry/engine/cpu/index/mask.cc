#include "belfry/engine/cpu/kernel/kernel.h"

namespace belfry {
namespace {

// mask -> places [how many are true]
const KernelRegistration true_places_kernel = define_kernel("TruePlaces").make([](const KernelContext& c) {
  return simple_kernel([n = c.input(0).elements()](const Buffers& b, const Step&) {
    const bool* mask = b.in<bool>(0);
    auto* places = b.out<std::int64_t>();
    for (std::int64_t i = 0; i < n; ++i)
      if (mask[i]) *places++ = i;
  });
});

}  // namespace
}  // namespace belfry
