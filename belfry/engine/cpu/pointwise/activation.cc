// Activations, element by element in any type; f32 usually runs as part of a fused program.
#include <cmath>

#include "belfry/engine/cpu/pointwise/pointwise_kernels.h"
#include "belfry/ops/activation_constants.h"

namespace belfry {
namespace {

using enum AtZero;

// Exact for large |x| of either sign: exp never overflows. NaN stays NaN.
const KernelRegistration softplus_kernel = define_unary_kernel<Floats>(
    "Softplus", changes, []<class T>(T x) { return (x < 0 ? T(0) : x) + std::log1p(std::exp(-std::abs(x))); });
const KernelRegistration elu_kernel =
    define_unary_kernel<Floats>("Elu", stays, [](auto x) { return x > 0 ? x : std::expm1(x); });
const KernelRegistration selu_kernel = define_unary_kernel<Floats>(
    "Selu", stays, []<class T>(T x) { return x > 0 ? x * T(kSeluScale) : std::expm1(x) * T(kSeluScale * kSeluAlpha); });
const KernelRegistration swish_kernel = define_unary_kernel<Floats>("Swish", stays, []<class T>(T x) {
  const T e = std::exp(-std::abs(x));
  return x * (x >= 0 ? T(1) : e) / (T(1) + e);
});
const KernelRegistration prelu_kernel =
    define_binary_kernel<Floats>("Prelu", changes, [](auto x, auto slope) { return x > 0 ? x : x * slope; });

}  // namespace
}  // namespace belfry
