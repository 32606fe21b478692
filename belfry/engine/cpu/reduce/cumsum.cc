#include <type_traits>

#include "belfry/engine/cpu/kernel/axis_lines.h"
#include "belfry/engine/cpu/kernel/kernel_dispatch.h"
#include "belfry/engine/cpu/kernel/strided_loop.h"

namespace belfry {
namespace {

constexpr std::int64_t kColumns = 64;  // sums held at once

// f32 adds up in f64; integers wrap around.
template <class T>
using Sum = std::conditional_t<std::is_floating_point_v<T>, double, std::uint64_t>;

template <class T>
void running_sums(const AxisLines& a, bool exclusive, bool reverse, const T* x, T* y) {
  a.for_each_run(kColumns, kPointwiseGrain, [&](std::int64_t line, std::int64_t count) {
    Sum<T> sums[kColumns] = {};
    const std::int64_t start = a.start(line);
    for (std::int64_t step = 0; step < a.size; ++step) {
      const std::int64_t at = start + (reverse ? a.size - 1 - step : step) * a.inner;
      for (std::int64_t i = 0; i < count; ++i) {
        const Sum<T> before = sums[i];
        sums[i] += static_cast<Sum<T>>(x[at + i]);
        y[at + i] = static_cast<T>(exclusive ? before : sums[i]);
      }
    }
  });
}

const KernelRegistration cumsum_kernel = define_kernel("CumSum").in_place(0).make([](const KernelContext& c) {
  return make_for<Numbers>(c, c.output().dtype, [&]<class T>() {
    return simple_kernel([lines = AxisLines(c.input(0).shape, c.attributes->integer("axis")),
                          exclusive = c.attributes->flag("exclusive"),
                          reverse = c.attributes->flag("reverse")](const Buffers& b, const Step&) {
      running_sums(lines, exclusive, reverse, b.in<T>(0), b.out<T>());
    });
  });
});

}  // namespace
}  // namespace belfry
