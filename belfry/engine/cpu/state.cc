// Assignments. Input 0 and output 0 are both the variable's own storage, which is written through the output.
#include <cstring>

#include "belfry/engine/cpu/kernel_dispatch.h"
#include "belfry/engine/cpu/strided_loop.h"

namespace belfry {
namespace {

// Copies input `index` to the output.
KernelPtr make_copy(const KernelContext& c, std::size_t index) {
  return simple_kernel([bytes = c.output().bytes(), index](const Buffers& b, const Step&) {
    if (bytes > 0 && b.outputs[0] != b.inputs[index]) std::memcpy(b.outputs[0], b.inputs[index], bytes);
  });
}

template <class F>
KernelRegistration define_assignment_kernel(const char* op, F f) {
  return define_kernel(op).make([f](const KernelContext& c) {
    return make_for<Numbers>(c, c.output().dtype, [&]<class T>() {
      const auto n = static_cast<std::int64_t>(c.output().bytes() / sizeof(T));
      return simple_kernel([n, f](const Buffers& b, const Step&) {
        const T* delta = b.in<T>(1);
        T* variable = b.out<T>();
        parallel_for(n, kPointwiseGrain, [=](std::int64_t begin, std::int64_t end) {
          for (std::int64_t i = begin; i < end; ++i) variable[i] = f(variable[i], delta[i]);
        });
      });
    });
  });
}

const KernelRegistration assign_kernel = define_kernel("Assign").make([](const KernelContext& c) { return make_copy(c, 1); });
const KernelRegistration assign_add_kernel = define_assignment_kernel("AssignAdd", [](auto a, auto b) { return a + b; });
const KernelRegistration assign_sub_kernel = define_assignment_kernel("AssignSub", [](auto a, auto b) { return a - b; });
// A read copies, so that a later assignment in the same run does not change what was read.
const KernelRegistration read_variable_kernel = define_kernel("ReadVariable").make([](const KernelContext& c) { return make_copy(c, 0); });

}  // namespace
}  // namespace belfry
