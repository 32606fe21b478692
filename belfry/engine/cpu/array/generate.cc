#include <algorithm>

#include "belfry/array/internal/convert.h"
#include "belfry/engine/cpu/kernel/axis_lines.h"
#include "belfry/engine/cpu/kernel/kernel_dispatch.h"
#include "belfry/engine/cpu/kernel/strided_loop.h"

namespace belfry {
namespace {

// indices [outer, inner] -> y [outer, depth, inner]
template <class T, class Index>
void one_hot(const AxisLines& a, T on, T off, const Index* indices, T* y) {
  parallel_for(a.outer * a.size * a.inner, kPointwiseGrain,
               [&](std::int64_t begin, std::int64_t end) { std::fill(y + begin, y + end, off); });
  parallel_for(a.lines(), kPointwiseGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t line = begin; line < end; ++line) {
      const auto index = static_cast<std::int64_t>(indices[line]);
      if (index >= 0 && index < a.size) y[a.start(line) + index * a.inner] = on;
    }
  });
}

KernelPtr make_one_hot(const KernelContext& c) {
  return make_for<AllTypes>(c, c.output().dtype, [&]<class T>() {
    const T on = convert<T>(c.attributes->get<double>("on")), off = convert<T>(c.attributes->get<double>("off"));
    const AxisLines lines(c.output().shape, c.attributes->integer("axis"));
    return simple_kernel([on, off, lines, wide = c.input(0).dtype == i64](const Buffers& b, const Step&) {
      if (wide)
        one_hot(lines, on, off, b.in<std::int64_t>(0), b.out<T>());
      else
        one_hot(lines, on, off, b.in<std::int32_t>(0), b.out<T>());
    });
  });
}
const KernelRegistration one_hot_kernel = define_kernel("OneHot").make(make_one_hot);
const KernelRegistration one_hot_like_kernel = define_kernel("OneHotLike").make(make_one_hot);

KernelPtr make_range(const KernelContext& c) {
  return make_for<AllTypes>(c, c.output().dtype, [&]<class T>() {
    return simple_kernel([n = c.output().elements(), start = c.attributes->get<double>("start"),
                          delta = c.attributes->get<double>("delta")](const Buffers& b, const Step&) {
      T* y = b.out<T>();
      for_each_element(n, [=](std::int64_t i) { y[i] = convert<T>(start + static_cast<double>(i) * delta); });
    });
  });
}
const KernelRegistration range_kernel = define_kernel("Range").make(make_range);
const KernelRegistration range_like_kernel = define_kernel("RangeLike").make(make_range);

}  // namespace
}  // namespace belfry
