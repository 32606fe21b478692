#include <algorithm>

#include "belfry/engine/cpu/kernel/kernel_dispatch.h"
#include "belfry/engine/cpu/kernel/runtime_error.h"
#include "belfry/engine/cpu/kernel/strided_loop.h"

namespace belfry {
namespace {

// x as rows of `inner` elements, chosen by indices of `depth` numbers each.
struct Rows {
  Shape outer;  // the axes that the indices go into
  std::int64_t rows = 0, inner = 0, depth = 0, count = 0;
  const Node* origin = nullptr;

  Rows(const KernelContext& c, const Shape& x) : origin(c.origin) {
    const Shape& indices = c.input(1).shape;
    depth = indices[-1];
    count = indices.slice(0, indices.rank() - 1).elements();
    outer = x.slice(0, static_cast<int>(depth));
    rows = outer.elements();
    inner = x.slice(static_cast<int>(depth), x.rank()).elements();
  }

  template <class Index>
  std::int64_t row(const Index* index) const {
    std::int64_t at = 0;
    for (std::int64_t i = 0; i < depth; ++i) at = at * outer[static_cast<int>(i)] + static_cast<std::int64_t>(index[i]);
    return at;
  }

  template <class Index>
  void check(const Index* indices) const {
    for (std::int64_t i = 0; i < count; ++i)
      for (std::int64_t k = 0; k < depth; ++k) {
        const auto index = static_cast<std::int64_t>(indices[i * depth + k]), size = outer[static_cast<int>(k)];
        if (index < 0 || index >= size)
          fail_numeric(origin, fmt::format("expected indices in [0, {}) into axis {}, got {} in index {} of {}", size,
                                           k, index, i, count));
      }
  }
};

template <class T, class Index>
void gather(const Rows& r, const T* x, const Index* indices, T* y) {
  parallel_for(r.count, std::max<std::int64_t>(kPointwiseGrain / std::max<std::int64_t>(r.inner, 1), 1),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i)
                   std::copy_n(x + r.row(indices + i * r.depth) * r.inner, r.inner, y + i * r.inner);
               });
}

// Each thread has its own rows and reads all indices: updates of one row are applied in order, whatever the team.
template <class T, class Index>
void scatter(const Rows& r, const Index* indices, const T* updates, T* y) {
  const std::int64_t work = std::max<std::int64_t>((r.rows + r.count) * r.inner / std::max<std::int64_t>(r.rows, 1), 1);
  parallel_for(r.rows, std::max<std::int64_t>(kPointwiseGrain / work, 1), [&](std::int64_t begin, std::int64_t end) {
    std::fill(y + begin * r.inner, y + end * r.inner, T(0));
    for (std::int64_t i = 0; i < r.count; ++i) {
      const std::int64_t row = r.row(indices + i * r.depth);
      if (row < begin || row >= end) continue;
      const T* from = updates + i * r.inner;
      T* to = y + row * r.inner;
      for (std::int64_t k = 0; k < r.inner; ++k) to[k] += from[k];
    }
  });
}

const KernelRegistration gather_nd_kernel = define_kernel("GatherNd").make([](const KernelContext& c) {
  return make_for<AllTypes>(c, c.output().dtype, [&]<class T>() {
    return simple_kernel(
        [r = Rows(c, c.input(0).shape), wide = c.input(1).dtype == i64](const Buffers& b, const Step&) {
          const auto run = [&](const auto* indices) {
            r.check(indices);
            gather(r, b.in<T>(0), indices, b.out<T>());
          };
          wide ? run(b.in<std::int64_t>(1)) : run(b.in<std::int32_t>(1));
        });
  });
});

const KernelRegistration scatter_nd_kernel = define_kernel("ScatterNd").make([](const KernelContext& c) {
  return make_for<Numbers>(c, c.output().dtype, [&]<class T>() {
    return simple_kernel(
        [r = Rows(c, c.output().shape), wide = c.input(1).dtype == i64](const Buffers& b, const Step&) {
          const auto run = [&](const auto* indices) {
            r.check(indices);
            scatter(r, indices, b.in<T>(2), b.out<T>());
          };
          wide ? run(b.in<std::int64_t>(1)) : run(b.in<std::int32_t>(1));
        });
  });
});

}  // namespace
}  // namespace belfry
