// The longer scalar forms of pointwise ops.
#pragma once

#include <cmath>
#include <numbers>
#include <type_traits>

#include "belfry/ops/internal/activation_constants.h"

namespace belfry {

// Integer arithmetic wraps around, as NumPy's does.
template <class T, class F>
T wrapping(T a, T b, F f) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(f(static_cast<U>(a), static_cast<U>(b)));
  } else {
    return f(a, b);
  }
}
template <class T>
T wrapping_sum(T a, T b) {
  return wrapping(a, b, [](auto x, auto y) { return x + y; });
}
template <class T>
T wrapping_difference(T a, T b) {
  return wrapping(a, b, [](auto x, auto y) { return x - y; });
}
template <class T>
T wrapping_product(T a, T b) {
  return wrapping(a, b, [](auto x, auto y) { return x * y; });
}
template <class T>
T wrapping_negative(T x) {
  if constexpr (std::is_integral_v<T>)
    return wrapping_difference(T(0), x);
  else
    return -x;
}

template <class T>
T magnitude(T x) {
  if constexpr (std::is_integral_v<T>)
    return x < 0 ? wrapping_negative(x) : x;
  else
    return std::abs(x);
}
template <class T>
T sign_of(T x) {
  return x != x ? x : static_cast<T>((x > 0) - (x < 0));
}

// Integers: towards zero; division by zero gives 0, since a step cannot stop half-way with an error.
template <class T>
T quotient(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    if (b == 0) return 0;
    if (b == -1) return wrapping_negative(a);
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
      if (b % 2 != 0) out = wrapping_product(out, a);
      a = wrapping_product(a, a);
    }
    return out;
  } else {
    return std::pow(a, b);
  }
}

// Exact for large |x| of either sign: exp never overflows. NaN stays NaN.
template <class T>
T sigmoid_of(T x) {
  const T e = std::exp(-std::abs(x));
  return (x >= 0 ? T(1) : e) / (T(1) + e);
}
template <class T>
T softplus_of(T x) {
  return (x < 0 ? T(0) : x) + std::log1p(std::exp(-std::abs(x)));
}
template <class T>
T selu_of(T x) {
  return x > 0 ? x * T(kSeluScale) : std::expm1(x) * T(kSeluScale * kSeluAlpha);
}
template <class T>
T swish_of(T x) {
  const T e = std::exp(-std::abs(x));
  return x * (x >= 0 ? T(1) : e) / (T(1) + e);
}

// P(x) of the standard normal distribution; exact for negative x, too.
inline double normal_share(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }
inline double normal_density(double x) {
  return std::exp(-0.5 * x * x) * (std::numbers::inv_sqrtpi / std::numbers::sqrt2);
}
inline double gelu_of(double x) { return x * normal_share(x); }
inline double gelu_slope_of(double x) { return normal_share(x) + x * normal_density(x); }

}  // namespace belfry
