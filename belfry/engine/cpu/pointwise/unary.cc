// y[i] = f(x[i]), in any layout: the loop runs over the physical elements.
#include <algorithm>
#include <cmath>

#include "belfry/engine/cpu/pointwise/pointwise_kernels.h"

namespace belfry {
namespace {

// y[i] = value, whatever x holds: where the result is folded into a constant, x is memory that nobody wrote.
KernelRegistration define_like_kernel(const char* op, int value) {
  return define_kernel(op).layout_blind(value == 0).in_place(0).make([value](const KernelContext& c) {
    return make_for<AllTypes>(c, c.output().dtype, [&]<class T>() {
      const auto n = static_cast<std::int64_t>(c.output().bytes() / sizeof(T));
      return simple_kernel([n, value = static_cast<T>(value)](const Buffers& b, const Step&) {
        T* y = b.out<T>();
        parallel_for(n, kPointwiseGrain,
                     [=](std::int64_t begin, std::int64_t end) { std::fill(y + begin, y + end, value); });
      });
    });
  });
}

// Exact for large |x| of either sign: exp never overflows.
template <class T>
T sigmoid_of(T x) {
  const T e = std::exp(-std::abs(x));
  return (x >= 0 ? T(1) : e) / (T(1) + e);
}

using enum AtZero;

// Integers negate and square as unsigned ones do, so that overflow wraps.
const KernelRegistration neg_kernel = define_unary_kernel<Numbers>("Neg", stays, []<class T>(T x) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(-static_cast<std::make_unsigned_t<T>>(x));
  else
    return -x;
});
const KernelRegistration abs_kernel = define_unary_kernel<Numbers>("Abs", stays, []<class T>(T x) {
  if constexpr (std::is_integral_v<T>)
    return x < 0 ? static_cast<T>(-static_cast<std::make_unsigned_t<T>>(x)) : x;
  else
    return std::abs(x);
});
const KernelRegistration sign_kernel = define_unary_kernel<Numbers>(
    "Sign", stays, []<class T>(T x) { return x != x ? x : static_cast<T>((x > 0) - (x < 0)); });
const KernelRegistration square_kernel = define_unary_kernel<Numbers>("Square", stays, []<class T>(T x) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<std::make_unsigned_t<T>>(x) * static_cast<std::make_unsigned_t<T>>(x));
  else
    return x * x;
});
const KernelRegistration sqrt_kernel = define_unary_kernel<Floats>("Sqrt", stays, [](auto x) { return std::sqrt(x); });
const KernelRegistration rsqrt_kernel =
    define_unary_kernel<Floats>("Rsqrt", changes, []<class T>(T x) { return T(1) / std::sqrt(x); });
const KernelRegistration reciprocal_kernel =
    define_unary_kernel<Floats>("Reciprocal", changes, []<class T>(T x) { return T(1) / x; });
const KernelRegistration exp_kernel = define_unary_kernel<Floats>("Exp", changes, [](auto x) { return std::exp(x); });
const KernelRegistration expm1_kernel =
    define_unary_kernel<Floats>("Expm1", stays, [](auto x) { return std::expm1(x); });
const KernelRegistration log_kernel = define_unary_kernel<Floats>("Log", changes, [](auto x) { return std::log(x); });
const KernelRegistration log1p_kernel =
    define_unary_kernel<Floats>("Log1p", stays, [](auto x) { return std::log1p(x); });
const KernelRegistration tanh_kernel = define_unary_kernel<Floats>("Tanh", stays, [](auto x) { return std::tanh(x); });
const KernelRegistration sigmoid_kernel =
    define_unary_kernel<Floats>("Sigmoid", changes, [](auto x) { return sigmoid_of(x); });
const KernelRegistration sin_kernel = define_unary_kernel<Floats>("Sin", stays, [](auto x) { return std::sin(x); });
const KernelRegistration cos_kernel = define_unary_kernel<Floats>("Cos", changes, [](auto x) { return std::cos(x); });
const KernelRegistration floor_kernel =
    define_unary_kernel<Floats>("Floor", stays, [](auto x) { return std::floor(x); });
const KernelRegistration ceil_kernel = define_unary_kernel<Floats>("Ceil", stays, [](auto x) { return std::ceil(x); });
const KernelRegistration round_kernel =
    define_unary_kernel<Floats>("Round", stays, [](auto x) { return std::nearbyint(x); });
const KernelRegistration zeros_like_kernel = define_like_kernel("ZerosLike", 0);
const KernelRegistration ones_like_kernel = define_like_kernel("OnesLike", 1);
// NaN passes through.
const KernelRegistration relu_kernel =
    define_unary_kernel<Numbers>("Relu", stays, []<class T>(T x) { return x < 0 ? T(0) : x; });

const KernelRegistration relu_grad_kernel =
    define_kernel("ReluGrad").layout_blind(true).in_place(0).in_place(1).make([](const KernelContext& c) {
      return make_for<Floats>(c, c.output().dtype, [&]<class T>() {
        const auto n = static_cast<std::int64_t>(c.output().bytes() / sizeof(T));
        return simple_kernel([n](const Buffers& b, const Step&) {
          const T *dy = b.in<T>(0), *y = b.in<T>(1);
          T* dx = b.out<T>();
          for_each_element(n, [=](std::int64_t i) { dx[i] = y[i] > 0 ? dy[i] : T(0); });
        });
      });
    });

}  // namespace
}  // namespace belfry
