// loss = max(x, 0) - x z + log(1 + e^-|x|) and dx = (sigmoid(x) - z) dloss, each alone or both in one pass. f32 is a
// program of the pointwise interpreter.
#include <cmath>

#include "belfry/engine/cpu/kernel/kernel_dispatch.h"
#include "belfry/engine/cpu/kernel/strided_loop.h"
#include "belfry/engine/cpu/pointwise/pointwise_ops.h"
#include "belfry/engine/cpu/pointwise/pointwise_team.h"

namespace belfry {
namespace {

// Which output each is, or -1. Inputs are logits, labels and, for a gradient, dloss.
struct Wanted {
  int loss = -1, gradient = -1;
};

std::vector<PointwiseInstruction> code_of(const Wanted& wanted) {
  constexpr auto op = pointwise_op;
  constexpr std::uint8_t x = place::operand(0), z = place::operand(1), dloss = place::operand(2);
  constexpr std::uint8_t a = place::reg(0), b = place::reg(1);
  std::vector<PointwiseInstruction> code;
  if (wanted.loss >= 0)
    code = {{op("Relu"), a, x},
            {op("Mul"), b, x, z},
            {op("Sub"), a, a, b},
            {op("Abs"), b, x},
            {op("Neg"), b, b},
            {op("Softplus"), b, b},
            {op("Add"), place::output(wanted.loss), a, b}};
  if (wanted.gradient >= 0)
    code.insert(code.end(),
                {{op("Sigmoid"), a, x}, {op("Sub"), a, a, z}, {op("Mul"), place::output(wanted.gradient), a, dloss}});
  return code;
}

KernelPtr make_program(const KernelContext& c, const Wanted& wanted) {
  const int outputs = static_cast<int>(c.outputs.size()), operands = static_cast<int>(c.inputs.size());
  return simple_kernel(
      [n = c.output().elements(), code = code_of(wanted), operands, outputs](const Buffers& b, const Step&) {
        PointwiseOperand in[3];
        float* out[2];
        for (int i = 0; i < operands; ++i) in[i] = {b.in<float>(i), PointwiseAccess::full};
        for (int i = 0; i < outputs; ++i) out[i] = b.out<float>(i);
        run_pointwise({code, operands, outputs}, {.rows = 1,
                                                  .inner = n,
                                                  .operands = std::span(in, static_cast<std::size_t>(operands)),
                                                  .outputs = std::span(out, static_cast<std::size_t>(outputs))});
      });
}

KernelPtr make_plain(const KernelContext& c, const Wanted& wanted) {
  return make_for<Floats>(c, c.output().dtype, [&]<class T>() {
    return simple_kernel([n = c.output().elements(), gradient = wanted.gradient >= 0](const Buffers& b, const Step&) {
      const T *x = b.in<T>(0), *z = b.in<T>(1), *dloss = gradient ? b.in<T>(2) : nullptr;
      T* out = b.out<T>();
      for_each_element(n, [=](std::int64_t i) {
        const T e = std::exp(-std::abs(x[i]));
        if (dloss == nullptr)
          out[i] = std::max(x[i], T(0)) - x[i] * z[i] + std::log1p(e);
        else
          out[i] = ((x[i] >= 0 ? T(1) : e) / (T(1) + e) - z[i]) * dloss[i];
      });
    });
  });
}

KernelPtr make(const KernelContext& c, const Wanted& wanted) {
  return c.output().dtype == DType::f32 ? make_program(c, wanted) : make_plain(c, wanted);
}

const KernelRegistration loss_kernel =
    define_kernel("SigmoidCrossEntropy").make([](const KernelContext& c) { return make(c, {.loss = 0}); });
const KernelRegistration gradient_kernel =
    define_kernel("SigmoidCrossEntropyGrad").in_place(2).make([](const KernelContext& c) {
      return make(c, {.gradient = 0});
    });
// Made by the fuse pass, only for f32.
const KernelRegistration fused_sigmoid_kernel =
    define_kernel("FusedSigmoidCrossEntropy").make([](const KernelContext& c) {
      return make(c, {.loss = 0, .gradient = 1});
    });

}  // namespace
}  // namespace belfry
