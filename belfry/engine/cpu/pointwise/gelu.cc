// The error function and gelu, in any layout. f32 runs as pointwise programs, alone or in a chain; f64 is libm's.
#include <cmath>
#include <numbers>

#include "belfry/engine/cpu/kernel/kernel_dispatch.h"
#include "belfry/engine/cpu/kernel/strided_loop.h"
#include "belfry/engine/cpu/pointwise/pointwise_team.h"

namespace belfry {
namespace {

// P(x) of the standard normal distribution; exact for negative x, too.
double normal_share(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }
double normal_density(double x) { return std::exp(-0.5 * x * x) * (std::numbers::inv_sqrtpi / std::numbers::sqrt2); }

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
        for_each_element(n, [=](std::int64_t i) { y[i] = static_cast<T>(f(x[i], second[i])); });
      });
    });
  });
}

const KernelRegistration erf_kernel =
    define_gelu_kernel("Erf", PointwiseOp::erf, 1, [](double x, double) { return std::erf(x); });
const KernelRegistration gelu_kernel =
    define_gelu_kernel("Gelu", PointwiseOp::gelu, 1, [](double x, double) { return x * normal_share(x); });
const KernelRegistration gelu_grad_kernel =
    define_gelu_kernel("GeluGrad", PointwiseOp::gelu_grad, 2,
                       [](double dy, double x) { return dy * (normal_share(x) + x * normal_density(x)); });

}  // namespace
}  // namespace belfry
