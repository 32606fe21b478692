// y = f(a, b) with NumPy's broadcasting. Operands of one shape and layout are one flat loop over physical elements.
#include <cmath>

#include "belfry/engine/cpu/kernel_dispatch.h"
#include "belfry/engine/cpu/strided_loop.h"

namespace belfry {
namespace {

// The innermost loop; the compiler sees the usual steps (1, or 0 for a repeated operand) as constants.
template <class A, class Y, class F>
void apply(const A* a, std::int64_t step_a, const A* b, std::int64_t step_b, Y* y, std::int64_t count, F f) {
  if (step_a == 1 && step_b == 1) {
    for (std::int64_t i = 0; i < count; ++i) y[i] = f(a[i], b[i]);
  } else if (step_a == 1 && step_b == 0) {
    for (std::int64_t i = 0; i < count; ++i) y[i] = f(a[i], *b);
  } else if (step_a == 0 && step_b == 1) {
    for (std::int64_t i = 0; i < count; ++i) y[i] = f(*a, b[i]);
  } else {
    for (std::int64_t i = 0; i < count; ++i) y[i] = f(a[i * step_a], b[i * step_b]);
  }
}

template <class T, class Y, class F>
KernelPtr make_binary(const KernelContext& c, F f) {
  const Shape& out = c.output().shape;
  if (c.input(0).shape == out && c.input(1).shape == out) {
    const auto n = static_cast<std::int64_t>(c.output().bytes() / sizeof(Y));
    return simple_kernel([n, f](const Buffers& b, const Step&) {
      parallel_for(n, kPointwiseGrain, [&](std::int64_t begin, std::int64_t end) {
        apply(b.in<T>(0) + begin, 1, b.in<T>(1) + begin, 1, b.out<Y>() + begin, end - begin, f);
      });
    });
  }
  const StridedLoop<2> loop(out, {broadcast_strides(c.input(0).shape, out), broadcast_strides(c.input(1).shape, out)});
  return simple_kernel([loop, f](const Buffers& b, const Step&) {
    const T *x = b.in<T>(0), *z = b.in<T>(1);
    Y* y = b.out<Y>();
    loop.run([&](std::int64_t at, const auto& offsets, std::int64_t count) {
      apply(x + offsets[0], loop.step(0), z + offsets[1], loop.step(1), y + at, count, f);
    });
  });
}

// Zero and zero must give zero for padding to stay what it is.
enum class AtZero { stays, changes };

template <class Types, class F>
KernelRegistration define_binary_kernel(const char* op, AtZero zero, F f) {
  return define_kernel(op)
      .layout_blind(zero == AtZero::stays)
      .in_place(0)
      .in_place(1)
      .make([f](const KernelContext& c) {
        return make_for<Types>(c, c.output().dtype, [&]<class T>() { return make_binary<T, T>(c, f); });
      });
}

// The result is of another type, so neither memory nor a blocked layout can be shared with the operands.
template <class F>
KernelRegistration define_comparison_kernel(const char* op, F f) {
  return define_kernel(op).make([f](const KernelContext& c) {
    return make_for<AllTypes>(c, c.input(0).dtype, [&]<class T>() { return make_binary<T, bool>(c, f); });
  });
}

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

const KernelRegistration select_kernel =
    define_kernel("Select").in_place(1).in_place(2).make([](const KernelContext& c) {
      return make_for<AllTypes>(c, c.output().dtype, [&]<class T>() {
        const Shape& out = c.output().shape;
        const StridedLoop<3> loop(out,
                                  {broadcast_strides(c.input(0).shape, out), broadcast_strides(c.input(1).shape, out),
                                   broadcast_strides(c.input(2).shape, out)});
        return simple_kernel([loop](const Buffers& b, const Step&) {
          const bool* condition = b.in<bool>(0);
          const T *x = b.in<T>(1), *z = b.in<T>(2);
          T* y = b.out<T>();
          loop.run([&](std::int64_t at, const auto& offsets, std::int64_t count) {
            for (std::int64_t i = 0; i < count; ++i)
              y[at + i] = condition[offsets[0] + i * loop.step(0)] ? x[offsets[1] + i * loop.step(1)]
                                                                   : z[offsets[2] + i * loop.step(2)];
          });
        });
      });
    });

}  // namespace
}  // namespace belfry
