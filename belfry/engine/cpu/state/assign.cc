// Assignments. Input 0 and output 0 are both the variable's own storage, which is written through the output.
#include <cstring>

#include "belfry/engine/cpu/kernel/kernel_dispatch.h"
#include "belfry/engine/cpu/kernel/strided_loop.h"

namespace belfry {
namespace {

KernelPtr make_copy(const KernelContext& c) {
  return simple_kernel([bytes = c.output().bytes()](const Buffers& b, const Step&) {
    if (bytes > 0 && b.outputs[0] != b.inputs[1]) std::memcpy(b.outputs[0], b.inputs[1], bytes);
  });
}

template <class F>
KernelRegistration define_assignment_kernel(const char* op, F f) {
  return define_kernel(op).layout_blind(true).make([f](const KernelContext& c) {
    return make_for<Numbers>(c, c.output().dtype, [&]<class T>() {
      const auto n = static_cast<std::int64_t>(c.output().bytes() / sizeof(T));
      return simple_kernel([n, f](const Buffers& b, const Step&) {
        const T* delta = b.in<T>(1);
        T* variable = b.out<T>();
        for_each_element(n, [=](std::int64_t i) { variable[i] = f(variable[i], delta[i]); });
      });
    });
  });
}

const KernelRegistration assign_kernel = define_kernel("Assign").layout_blind(true).make(make_copy);
const KernelRegistration assign_add_kernel =
    define_assignment_kernel("AssignAdd", [](auto a, auto b) { return a + b; });
const KernelRegistration assign_sub_kernel =
    define_assignment_kernel("AssignSub", [](auto a, auto b) { return a - b; });

}  // namespace
}  // namespace belfry
