#include <algorithm>
#include <array>
#include <span>

#include "belfry/engine/cpu/array/box_place.h"
#include "belfry/engine/cpu/kernel/kernel_dispatch.h"

namespace belfry {
namespace {

void copy_elements(const char* from, char* to, std::size_t bytes) {
  parallel_for(static_cast<std::int64_t>(bytes), 1 << 16,
               [&](std::int64_t begin, std::int64_t end) { std::copy(from + begin, from + end, to + begin); });
}

// Elements outside the box are copied if the result lies elsewhere. (For a variable it never does.)
KernelPtr make_update(const KernelContext& c) {
  return make_for<AllTypes>(c, c.output().dtype, [&]<class T>() {
    const BoxPlace place = place_of(c, c.output().shape, c.input(1).shape);
    return simple_kernel([place, loop = loop_over(place), bytes = c.output().bytes()](const Buffers& b, const Step&) {
      const std::int64_t offset = loop.elements() == 0 ? 0 : place.offset(b.in<std::int64_t>(2));
      if (b.inputs[0] != b.outputs[0]) copy_elements(b.in<char>(0), b.out<char>(), bytes);
      if (loop.elements() > 0) put(loop, b.in<T>(1), b.out<T>() + offset);
    });
  });
}

// Into a variable with a convolution's layout, one element at a time: writing a box of it now and then is no reason to
// prefer another layout.
KernelPtr make_blocked_update(const KernelContext& c) {
  const BoxPlace place = place_of(c, c.output().shape, c.input(1).shape);
  return simple_kernel([place, layout = c.output().layout](const Buffers& b, const Step&) {
    const std::int64_t n = place.part.elements();
    const auto* begin = b.in<std::int64_t>(2);
    if (n > 0) place.offset(begin);  // throws if it is not inside
    std::array<std::int64_t, kMaxRank> index{};
    for (std::int64_t i = 0; i < n; ++i) {
      std::int64_t rest = i;
      for (int axis = place.part.rank() - 1; axis >= 0; --axis) {
        index[static_cast<std::size_t>(axis)] = begin[axis] + rest % place.part[axis];
        rest /= place.part[axis];
      }
      const std::span at(index.data(), static_cast<std::size_t>(place.part.rank()));
      b.out<float>()[physical_offset(layout, at)] = b.in<float>(1)[i];
    }
  });
}

LayoutChoice as_the_variable(const KernelContext& c) {
  const Layout& layout = c.input(0).layout;
  return {.inputs = {layout, {}, {}}, .outputs = {layout}};
}

const KernelRegistration update_slice_kernel = define_kernel("UpdateSlice").in_place(0).make(make_update);
const KernelRegistration assign_slice_kernel =
    define_kernel("AssignSlice").layout_rule(as_the_variable).follows_inputs().make([](const KernelContext& c) {
      return c.output().layout.plain() ? make_update(c) : make_blocked_update(c);
    });

}  // namespace
}  // namespace belfry
