#include <algorithm>

#include "belfry/engine/cpu/box_place.h"
#include "belfry/engine/cpu/kernel_dispatch.h"

namespace belfry {
namespace {

void copy_elements(const char* from, char* to, std::size_t bytes) {
  parallel_for(static_cast<std::int64_t>(bytes), 1 << 16,
               [&](std::int64_t begin, std::int64_t end) { std::copy(from + begin, from + end, to + begin); });
}

// What is not the box is copied if the result lies elsewhere. (Of a variable, it never does.)
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

const KernelRegistration update_slice_kernel = define_kernel("UpdateSlice").in_place(0).make(make_update);
const KernelRegistration assign_slice_kernel = define_kernel("AssignSlice").make(make_update);

}  // namespace
}  // namespace belfry
