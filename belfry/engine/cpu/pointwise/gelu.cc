// The error function and gelu, in any layout. f32 runs as pointwise programs, alone or in a chain; f64 is libm's.
#include "belfry/engine/cpu/kernel/kernel_dispatch.h"
#include "belfry/engine/cpu/kernel/strided_loop.h"
#include "belfry/engine/cpu/pointwise/pointwise_ops.h"
#include "belfry/engine/cpu/pointwise/pointwise_team.h"
#include "belfry/engine/cpu/pointwise/row_kernels.h"

namespace belfry {
namespace {

KernelPtr make_program(PointwiseOp op, std::int64_t n) {
  return simple_kernel([op, n](const Buffers& b, const Step&) {
    const PointwiseInstruction code{op, place::output(0), place::operand(0), place::operand(1)};
    PointwiseOperand operands[2];
    for (std::size_t i = 0; i < b.inputs.size(); ++i) operands[i].data = b.in<float>(static_cast<int>(i));
    float* y = b.out<float>();
    run_pointwise({std::span(&code, 1), static_cast<int>(b.inputs.size()), 1},
                  {.rows = 1, .inner = n, .operands = operands, .outputs = std::span(&y, 1)});
  });
}

// `f` takes as many numbers as the op has inputs. f(0), or f(0, 0), is 0.
template <class F>
KernelRegistration define_gelu_kernel(const char* op, PointwiseOp code, int inputs, F f) {
  KernelDefinition definition = define_kernel(op).layout_blind(true);
  for (int i = 0; i < inputs; ++i) definition.in_place(i);
  return definition.make([code, f](const KernelContext& c) {
    const auto n = static_cast<std::int64_t>(c.output().bytes() / size_of(c.output().dtype));
    if (c.output().dtype == f32) return make_program(code, n);
    return make_for<Floats>(c, c.output().dtype, [&]<class T>() {
      return simple_kernel([n, f](const Buffers& b, const Step&) {
        const T *x = b.in<T>(0), *second = b.inputs.size() > 1 ? b.in<T>(1) : x;
        T* y = b.out<T>();
        for_each_element(n, [=](std::int64_t i) { y[i] = static_cast<T>(f(double{x[i]}, double{second[i]})); });
      });
    });
  });
}

const bool gelu_kernels = for_rows<RowKind::in_double>(
    []<class Row>(const Row& row) { define_gelu_kernel(row.name, pointwise_op(row.name), Row::sources, row.scalar); });

}  // namespace
}  // namespace belfry
