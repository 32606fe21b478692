#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>

#include "belfry/base/parallel.h"
#include "belfry/engine/cpu/kernel/kernel_dispatch.h"
#include "belfry/engine/cpu/kernel/runtime_error.h"

namespace belfry {
namespace {

constexpr std::int64_t kGrain = 1 << 14;

// The first element that is not finite, or n.
template <class T>
std::int64_t first_bad(const T* x, std::int64_t n) {
  std::atomic<std::int64_t> first = n;
  parallel_for(n, kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      if (std::isfinite(x[i])) continue;
      std::int64_t known = first.load();
      while (i < known && !first.compare_exchange_weak(known, i)) {
      }
      return;
    }
  });
  return first.load();
}

const KernelRegistration check_numerics_kernel =
    define_kernel("CheckNumerics").in_place(0).make([](const KernelContext& c) {
      return make_for<Floats>(c, c.output().dtype, [&]<class T>() {
        return simple_kernel([shape = c.output().shape, message = c.attributes->get<std::string>("message"),
                              origin = c.origin](const Buffers& b, const Step&) {
          const T* x = b.in<T>(0);
          const std::int64_t n = shape.elements(), bad = first_bad(x, n);
          if (bad < n)
            fail_numeric(origin, fmt::format("{}: expected finite values, got {} at {} of {}", message, x[bad],
                                             index_text(shape, bad), to_string(shape)));
          if (x != b.out<T>() && n > 0) std::memcpy(b.out<T>(), x, static_cast<std::size_t>(n) * sizeof(T));
        });
      });
    });

}  // namespace
}  // namespace belfry
