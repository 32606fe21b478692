// Boxes whose position is read in each run.
#include <algorithm>

#include "belfry/array/internal/convert.h"
#include "belfry/engine/cpu/array/box_place.h"
#include "belfry/engine/cpu/kernel/kernel_dispatch.h"

namespace belfry {
namespace {

const KernelRegistration slice_at_kernel = define_kernel("SliceAt").make([](const KernelContext& c) {
  return make_for<AllTypes>(c, c.output().dtype, [&]<class T>() {
    const BoxPlace place = place_of(c, c.input(0).shape, c.output().shape, c.attributes->get<Ints>("steps"));
    return simple_kernel([place, loop = loop_over(place)](const Buffers& b, const Step&) {
      take(loop, b.in<T>(0) + place.offset(b.in<std::int64_t>(1)), b.out<T>());
    });
  });
});

const KernelRegistration place_at_kernel = define_kernel("PlaceAt").make([](const KernelContext& c) {
  return make_for<AllTypes>(c, c.output().dtype, [&]<class T>() {
    const BoxPlace place = place_of(c, c.output().shape, c.input(0).shape, c.attributes->get<Ints>("steps"));
    const T value = convert<T>(c.attributes->get<double>("value"));
    return simple_kernel(
        [place, loop = loop_over(place), value, n = c.output().elements()](const Buffers& b, const Step&) {
          T* y = b.out<T>();
          parallel_for(n, kPointwiseGrain,
                       [&](std::int64_t first, std::int64_t last) { std::fill(y + first, y + last, value); });
          if (loop.elements() == 0) return;
          put(loop, b.in<T>(0), y + place.offset(b.in<std::int64_t>(1)));
        });
  });
});

const KernelRegistration box_sizes_kernel = define_kernel("BoxSizes").make([](const KernelContext& c) {
  return simple_kernel([x = c.input(0).shape](const Buffers& b, const Step&) {
    for (int i = 0; i < x.rank(); ++i) {
      const std::int64_t size = b.in<std::int64_t>(2)[i];
      b.out<std::int64_t>()[i] = size == kAny ? x[i] - b.in<std::int64_t>(1)[i] : size;
    }
  });
});

}  // namespace
}  // namespace belfry
