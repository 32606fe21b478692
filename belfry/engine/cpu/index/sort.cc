#include <algorithm>
#include <cmath>
#include <numeric>

#include "belfry/engine/cpu/kernel/axis_lines.h"
#include "belfry/engine/cpu/kernel/index_check.h"
#include "belfry/engine/cpu/kernel/kernel_dispatch.h"

namespace belfry {
namespace {

// NaN is the largest.
template <class T>
bool below(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return a < b || (std::isnan(b) && !std::isnan(a));
  else
    return a < b;
}

// Whether element i of a row comes before element k: a strict order, since equal ones are ordered by their place.
template <class T>
auto order_of(const T* row, bool descending) {
  return [row, descending](std::int64_t i, std::int64_t k) {
    if (below(row[i], row[k])) return !descending;
    if (below(row[k], row[i])) return descending;
    return i < k;
  };
}

// Calls body(row) for rows of `size` elements, by the whole team.
template <class Body>
void for_each_row(std::int64_t rows, std::int64_t size, Body body) {
  const std::int64_t grain = std::max<std::int64_t>(kPointwiseGrain / 8 / std::max<std::int64_t>(size, 1), 1);
  parallel_for(rows, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) body(row);
  });
}

const KernelRegistration argsort_kernel = define_kernel("ArgSort").make([](const KernelContext& c) {
  return make_for<AllTypes>(c, c.input(0).dtype, [&]<class T>() {
    return simple_kernel([lines = AxisLines(c.input(0).shape, -1), descending = c.attributes->flag("descending")](
                             const Buffers& b, const Step&) {
      for_each_row(lines.outer, lines.size, [&](std::int64_t row) {
        std::int64_t* indices = b.out<std::int64_t>() + row * lines.size;
        std::iota(indices, indices + lines.size, std::int64_t{0});
        std::sort(indices, indices + lines.size, order_of(b.in<T>(0) + row * lines.size, descending));
      });
    });
  });
});

// The k best so far are a heap with the worst of them on top.
template <class T>
void top_k(const T* row, std::int64_t size, std::int64_t k, std::int64_t* best) {
  const auto before = order_of(row, true);
  std::iota(best, best + k, std::int64_t{0});
  std::make_heap(best, best + k, before);
  for (std::int64_t i = k; i < size; ++i) {
    if (!before(i, best[0])) continue;
    std::pop_heap(best, best + k, before);
    best[k - 1] = i;
    std::push_heap(best, best + k, before);
  }
  std::sort_heap(best, best + k, before);
}

const KernelRegistration top_k_kernel = define_kernel("TopK").make([](const KernelContext& c) {
  return make_for<AllTypes>(c, c.input(0).dtype, [&]<class T>() {
    return simple_kernel(
        [lines = AxisLines(c.input(0).shape, -1), k = c.output().shape[-1]](const Buffers& b, const Step&) {
          if (k == 0) return;
          for_each_row(lines.outer, lines.size, [&](std::int64_t row) {
            top_k(b.in<T>(0) + row * lines.size, lines.size, k, b.out<std::int64_t>() + row * k);
          });
        });
  });
});

// x [outer, size, inner], indices and y [outer, taken, inner]
template <class Index>
struct Along {
  AxisLines x, y;
  Shape shape;  // of the indices
  const Node* origin;

  Along(const KernelContext& c, const Shape& whole)
      : x(whole, c.attributes->integer("axis")),
        y(c.input(1).shape, c.attributes->integer("axis")),
        shape(c.input(1).shape),
        origin(c.origin) {}

  // body(place in x, place in y) for every index, those of one line by one thread.
  template <class Body>
  void run(const Index* indices, Body body) const {
    check_indices(indices, shape, x.size, origin);
    for_each_row(y.lines(), y.size, [&](std::int64_t line) {
      const std::int64_t from = x.start(line), to = y.start(line);
      for (std::int64_t i = 0; i < y.size; ++i) {
        const std::int64_t at = to + i * y.inner;
        body(from + static_cast<std::int64_t>(indices[at]) * x.inner, at);
      }
    });
  }
};

// make.operator()<Index>() for the type of the indices, input 1
template <class Make>
KernelPtr by_index(const KernelContext& c, Make make) {
  return c.input(1).dtype == i64 ? make.template operator()<std::int64_t>() : make.template operator()<std::int32_t>();
}

const KernelRegistration take_kernel = define_kernel("TakeAlongAxis").make([](const KernelContext& c) {
  return make_for<AllTypes>(c, c.output().dtype, [&]<class T>() {
    return by_index(c, [&]<class Index>() {
      return simple_kernel([along = Along<Index>(c, c.input(0).shape)](const Buffers& b, const Step&) {
        const T* x = b.in<T>(0);
        T* y = b.out<T>();
        along.run(b.in<Index>(1), [=](std::int64_t from, std::int64_t to) { y[to] = x[from]; });
      });
    });
  });
});

const KernelRegistration put_kernel = define_kernel("TakeAlongAxisGrad").make([](const KernelContext& c) {
  return make_for<Numbers>(c, c.output().dtype, [&]<class T>() {
    return by_index(c, [&]<class Index>() {
      return simple_kernel(
          [along = Along<Index>(c, c.output().shape), n = c.output().elements()](const Buffers& b, const Step&) {
            const T* dy = b.in<T>(2);
            T* dx = b.out<T>();
            for_each_element(n, [=](std::int64_t i) { dx[i] = T(0); });
            along.run(b.in<Index>(1), [=](std::int64_t to, std::int64_t from) { dx[to] += dy[from]; });
          });
    });
  });
});

}  // namespace
}  // namespace belfry
