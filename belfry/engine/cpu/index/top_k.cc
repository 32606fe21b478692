#include <algorithm>
#include <cmath>

#include "belfry/array/internal/dispatch.h"
#include "belfry/base/parallel.h"
#include "belfry/engine/cpu/kernel/kernel_dispatch.h"

namespace belfry {
namespace {

constexpr std::int64_t kGrain = 1 << 12;  // minimum number of elements per thread

template <class T>
bool larger(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return a > b || (std::isnan(a) && !std::isnan(b));
  else
    return a > b;
}

// x [outer, size, inner] -> index [outer, inner]
template <class T>
void argmax(std::int64_t outer, std::int64_t size, std::int64_t inner, const T* x, std::int64_t* index) {
  parallel_for(outer * inner, std::max<std::int64_t>(kGrain / size, 1), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const T* line = x + (i / inner) * size * inner + i % inner;
      std::int64_t best = 0;
      for (std::int64_t k = 1; k < size; ++k)
        if (larger(line[k * inner], line[best * inner])) best = k;
      index[i] = best;
    }
  });
}

// predictions [rows, classes], targets [rows] -> in [rows]
template <class T, class Label>
void in_top_k(std::int64_t rows, std::int64_t classes, std::int64_t k, const T* predictions, const Label* targets,
              bool* in) {
  parallel_for(rows, std::max<std::int64_t>(kGrain / std::max<std::int64_t>(classes, 1), 1),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t row = begin; row < end; ++row) {
                   const T* line = predictions + row * classes;
                   const auto target = static_cast<std::int64_t>(targets[row]);
                   if (target < 0 || target >= classes || !std::isfinite(line[target])) {
                     in[row] = false;
                     continue;
                   }
                   in[row] =
                       std::count_if(line, line + classes, [&](T value) { return larger(value, line[target]); }) < k;
                 }
               });
}

const KernelRegistration argmax_kernel = define_kernel("ArgMax").make([](const KernelContext& c) {
  return make_for<AllTypes>(c, c.input(0).dtype, [&]<class T>() {
    const Shape& shape = c.input(0).shape;
    const int axis = normalize_axis(static_cast<int>(c.attributes->integer("axis")), shape.rank(), "ArgMax");
    const std::int64_t outer = shape.slice(0, axis).elements(), size = shape[axis];
    const std::int64_t inner = shape.slice(axis + 1, shape.rank()).elements();
    return simple_kernel(
        [=](const Buffers& b, const Step&) { argmax(outer, size, inner, b.in<T>(0), b.out<std::int64_t>()); });
  });
});

const KernelRegistration in_top_k_kernel = define_kernel("InTopK").make([](const KernelContext& c) {
  return make_for<Floats>(c, c.input(0).dtype, [&]<class T>() {
    const bool wide = c.input(1).dtype == i64;
    return simple_kernel(
        [shape = c.input(0).shape, k = c.attributes->integer("k"), wide](const Buffers& b, const Step&) {
          if (wide)
            in_top_k(shape[0], shape[1], k, b.in<T>(0), b.in<std::int64_t>(1), b.out<bool>());
          else
            in_top_k(shape[0], shape[1], k, b.in<T>(0), b.in<std::int32_t>(1), b.out<bool>());
        });
  });
});

}  // namespace
}  // namespace belfry
