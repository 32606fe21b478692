// y = f(a, b) with NumPy's broadcasting.
#include <cmath>

#include "belfry/engine/cpu/pointwise/pointwise_kernels.h"

namespace belfry {
namespace {

// Integers: towards zero; by zero gives 0, since a step cannot stop half-way to complain.
template <class T>
T quotient(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    if (b == 0) return 0;
    if (b == -1) return wrapping(T(0), a, [](auto x, auto y) { return x - y; });
  }
  return a / b;
}

template <class T>
T floor_quotient(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    const T q = quotient(a, b);
    return b != 0 && b != -1 && a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
  } else {
    return std::floor(a / b);
  }
}

template <class T>
T floor_remainder(T a, T b) {
  T r;
  if constexpr (std::is_integral_v<T>) {
    if (b == 0 || b == -1) return 0;
    r = a % b;
  } else {
    r = std::fmod(a, b);
  }
  return (r < 0 && b > 0) || (r > 0 && b < 0) ? r + b : r;
}

template <class T>
T power(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    if (b < 0) return a == 1 ? T(1) : a == -1 ? (b % 2 == 0 ? T(1) : T(-1)) : T(0);
    T out = 1;
    for (; b != 0; b /= 2) {
      if (b % 2 != 0) out = wrapping(out, a, [](auto x, auto y) { return x * y; });
      a = wrapping(a, a, [](auto x, auto y) { return x * y; });
    }
    return out;
  } else {
    return std::pow(a, b);
  }
}

using enum AtZero;

const KernelRegistration add_kernel = define_binary_kernel<Numbers>(
    "Add", stays, [](auto a, auto b) { return wrapping(a, b, [](auto x, auto y) { return x + y; }); });
const KernelRegistration sub_kernel = define_binary_kernel<Numbers>(
    "Sub", stays, [](auto a, auto b) { return wrapping(a, b, [](auto x, auto y) { return x - y; }); });
const KernelRegistration mul_kernel = define_binary_kernel<Numbers>(
    "Mul", stays, [](auto a, auto b) { return wrapping(a, b, [](auto x, auto y) { return x * y; }); });
const KernelRegistration div_kernel =
    define_binary_kernel<Numbers>("Div", changes, [](auto a, auto b) { return quotient(a, b); });
// NaN in either operand is kept.
const KernelRegistration maximum_kernel =
    define_binary_kernel<Numbers>("Maximum", stays, [](auto a, auto b) { return a > b || a != a ? a : b; });
const KernelRegistration minimum_kernel =
    define_binary_kernel<Numbers>("Minimum", stays, [](auto a, auto b) { return a < b || a != a ? a : b; });
const KernelRegistration pow_kernel =
    define_binary_kernel<Numbers>("Pow", changes, [](auto a, auto b) { return power(a, b); });
const KernelRegistration floordiv_kernel =
    define_binary_kernel<Numbers>("FloorDiv", changes, [](auto a, auto b) { return floor_quotient(a, b); });
const KernelRegistration mod_kernel =
    define_binary_kernel<Numbers>("Mod", changes, [](auto a, auto b) { return floor_remainder(a, b); });
const KernelRegistration squared_difference_kernel =
    define_binary_kernel<Numbers>("SquaredDifference", stays, [](auto a, auto b) {
      const auto d = wrapping(a, b, [](auto x, auto y) { return x - y; });
      return wrapping(d, d, [](auto x, auto y) { return x * y; });
    });

const KernelRegistration equal_kernel = define_comparison_kernel("Equal", [](auto a, auto b) { return a == b; });
const KernelRegistration not_equal_kernel = define_comparison_kernel("NotEqual", [](auto a, auto b) { return a != b; });
const KernelRegistration less_kernel = define_comparison_kernel("Less", [](auto a, auto b) { return a < b; });
const KernelRegistration less_equal_kernel =
    define_comparison_kernel("LessEqual", [](auto a, auto b) { return a <= b; });
const KernelRegistration greater_kernel = define_comparison_kernel("Greater", [](auto a, auto b) { return a > b; });
const KernelRegistration greater_equal_kernel =
    define_comparison_kernel("GreaterEqual", [](auto a, auto b) { return a >= b; });

}  // namespace
}  // namespace belfry
