#include <algorithm>

#include "belfry/engine/cpu/kernel/indices.h"
#include "belfry/engine/cpu/kernel/kernel_dispatch.h"
#include "belfry/engine/cpu/kernel/strided_loop.h"

namespace belfry {
namespace {

// params [outer, size, inner], indices [count] -> y [outer, count, inner]
struct Gathering {
  Gathering(const Shape& params, const Shape& indices, int axis)
      : outer(params.slice(0, axis).elements()),
        size(params[axis]),
        inner(params.slice(axis + 1, params.rank()).elements()),
        count(indices.elements()) {}

  template <class T, class Index>
  void run(const T* params, const Index* indices, T* y) const {
    const std::int64_t grain = std::max<std::int64_t>(kPointwiseGrain / std::max<std::int64_t>(inner, 1), 1);
    parallel_for(outer * count, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t at = begin; at < end; ++at) {
        const auto index = static_cast<std::int64_t>(indices[at % count]);
        if (index < 0)  // padding
          std::fill_n(y + at * inner, inner, T{});
        else
          std::copy_n(params + (at / count * size + index) * inner, inner, y + at * inner);
      }
    });
  }

  // dy [outer, count, inner] -> dparams [outer, size, inner], in the order of the indices
  template <class T, class Index>
  void run_backward(const Index* indices, const T* dy, T* dparams) const {
    const std::int64_t slab = std::max<std::int64_t>(std::max(size, count) * inner, 1);
    parallel_for(outer, std::max<std::int64_t>(kPointwiseGrain / slab, 1), [&](std::int64_t begin, std::int64_t end) {
      std::fill(dparams + begin * size * inner, dparams + end * size * inner, T{});
      for (std::int64_t at = begin * count; at < end * count; ++at) {
        T* to = dparams + (at / count * size + static_cast<std::int64_t>(indices[at % count])) * inner;
        for (std::int64_t i = 0; i < inner; ++i) to[i] += dy[at * inner + i];
      }
    });
  }

  std::int64_t outer, size, inner, count;
};

int axis_of(const KernelContext& c) { return static_cast<int>(c.attributes->integer("axis")); }

IndexRange range_of(const KernelContext& c) {
  return {.shape = c.input(1).shape,
          .first = c.attributes->flag("padded") ? -1 : 0,
          .end = c.input(0).shape[axis_of(c)],
          .origin = c.origin};
}

const KernelRegistration gather_kernel = define_kernel("Gather").make([](const KernelContext& c) {
  return make_for<AllTypes>(c, c.output().dtype, [&]<class T>() {
    return make_for_index(c.input(1).dtype, [&]<class Index>() {
      return simple_kernel([g = Gathering(c.input(0).shape, c.input(1).shape, axis_of(c)), range = range_of(c)](
                               const Buffers& b, const Step&) {
        range.check(b.in<Index>(1));
        g.run(b.in<T>(0), b.in<Index>(1), b.out<T>());
      });
    });
  });
});

const KernelRegistration gather_grad_kernel = define_kernel("GatherGrad").make([](const KernelContext& c) {
  return make_for<Floats>(c, c.output().dtype, [&]<class T>() {
    return make_for_index(c.input(1).dtype, [&]<class Index>() {
      return simple_kernel([g = Gathering(c.input(0).shape, c.input(1).shape, axis_of(c)), range = range_of(c)](
                               const Buffers& b, const Step&) {
        range.check(b.in<Index>(1));
        g.run_backward(b.in<Index>(1), b.in<T>(2), b.out<T>());
      });
    });
  });
});

}  // namespace
}  // namespace belfry
