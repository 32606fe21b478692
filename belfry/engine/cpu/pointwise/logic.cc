#include "belfry/engine/cpu/pointwise/pointwise_kernels.h"
#include "belfry/engine/cpu/pointwise/row_kernels.h"

namespace belfry {
namespace {

template <class F>
KernelRegistration define_connective_kernel(const char* op, F f) {
  return define_kernel(op).in_place(0).in_place(1).make(
      [f](const KernelContext& c) { return make_binary<bool, bool>(c, f); });
}

template <class F>
KernelRegistration define_test_kernel(const char* op, F f) {
  return define_kernel(op).make([f](const KernelContext& c) {
    return make_for<Floats>(c, c.input(0).dtype, [&]<class T>() {
      return simple_kernel([n = c.output().elements(), f](const Buffers& b, const Step&) {
        const T* x = b.in<T>(0);
        bool* y = b.out<bool>();
        for_each_element(n, [=](std::int64_t i) { y[i] = f(x[i]); });
      });
    });
  });
}

const bool connective_kernels =
    for_rows<RowKind::connective>([](const auto& row) { define_connective_kernel(row.name, row.scalar); });
const KernelRegistration not_kernel = define_kernel("LogicalNot").in_place(0).make([](const KernelContext& c) {
  return simple_kernel([n = c.output().elements()](const Buffers& b, const Step&) {
    const bool* x = b.in<bool>(0);
    bool* y = b.out<bool>();
    for_each_element(n, [=](std::int64_t i) { y[i] = !x[i]; });
  });
});

const bool test_kernels = for_rows<RowKind::test>([](const auto& row) { define_test_kernel(row.name, row.scalar); });

}  // namespace
}  // namespace belfry
