// Boxes whose place is read in each run.
#include <algorithm>

#include "belfry/array/convert.h"
#include "belfry/engine/cpu/kernel_dispatch.h"
#include "belfry/engine/cpu/runtime_error.h"
#include "belfry/engine/cpu/strided_loop.h"

namespace belfry {
namespace {

// A box of `part`'s shape within `whole`.
struct BoxPlace {
  Shape whole, part;
  Strides strides{};  // of the whole
  Ints steps;
  const Node* origin = nullptr;

  // The offset of its first element; throws unless all of it is inside.
  std::int64_t offset(const std::int64_t* begin) const {
    std::int64_t out = 0;
    for (int i = 0; i < whole.rank(); ++i) {
      const auto axis = static_cast<std::size_t>(i);
      const std::int64_t step = steps.empty() ? 1 : steps[axis], last = begin[i] + (part[i] - 1) * step;
      const auto inside = [&](std::int64_t place) { return place >= 0 && place < whole[i]; };
      if (part[i] > 0 && !(inside(begin[i]) && inside(last)))
        fail_numeric(origin, fmt::format("expected a box inside {}, got size {} from {} on along axis {}",
                                         to_string(whole), part[i], begin[i], i));
      out += begin[i] * strides[axis];
    }
    return out;
  }
};

BoxPlace place_of(const KernelContext& c, const Shape& whole, const Shape& part) {
  return {.whole = whole,
          .part = part,
          .strides = dense_strides(whole),
          .steps = c.attributes->get<Ints>("steps"),
          .origin = c.origin};
}

// Over the elements of the part: where they lie in the whole.
StridedLoop<1> loop_over(const BoxPlace& place) {
  Strides strides = place.strides;
  for (std::size_t i = 0; i < place.steps.size(); ++i) strides[i] *= place.steps[i];
  return StridedLoop<1>(place.part, {strides});
}

const KernelRegistration slice_at_kernel = define_kernel("SliceAt").make([](const KernelContext& c) {
  return make_for<AllTypes>(c, c.output().dtype, [&]<class T>() {
    const BoxPlace place = place_of(c, c.input(0).shape, c.output().shape);
    return simple_kernel([place, loop = loop_over(place)](const Buffers& b, const Step&) {
      take(loop, b.in<T>(0) + place.offset(b.in<std::int64_t>(1)), b.out<T>());
    });
  });
});

const KernelRegistration place_at_kernel = define_kernel("PlaceAt").make([](const KernelContext& c) {
  return make_for<AllTypes>(c, c.output().dtype, [&]<class T>() {
    const BoxPlace place = place_of(c, c.output().shape, c.input(0).shape);
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
