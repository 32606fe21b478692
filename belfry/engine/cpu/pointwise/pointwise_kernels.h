// Kernels of ops that work element by element, from a function of scalars: y[i] = f(x[i]) in any layout, and
// y = f(a, b) with NumPy's broadcasting. Fused f32 ops use the vectorised programs instead. Internal to
// engine.
#pragma once

#include "belfry/engine/cpu/fuse/pointwise_program.h"
#include "belfry/engine/cpu/kernel/kernel_dispatch.h"
#include "belfry/engine/cpu/kernel/strided_loop.h"

namespace belfry {

template <class Types, class F>
KernelRegistration define_unary_kernel(const char* op, ZeroIf zero, F f) {
  return define_kernel(op).layout_blind(zero != ZeroIf::never).in_place(0).make([f](const KernelContext& c) {
    return make_for<Types>(c, c.output().dtype, [&]<class T>() {
      const auto n = static_cast<std::int64_t>(c.output().bytes() / sizeof(T));
      return simple_kernel([n, f](const Buffers& b, const Step&) {
        const T* x = b.in<T>(0);
        T* y = b.out<T>();
        for_each_element(n, [=](std::int64_t i) { y[i] = f(x[i]); });
      });
    });
  });
}

// The innermost loop of binary ops; the compiler sees the usual steps (1, or 0 for a repeated operand) as constants.
template <class A, class Y, class F>
void apply_binary(const A* a, std::int64_t step_a, const A* b, std::int64_t step_b, Y* y, std::int64_t count, F f) {
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

// Operands of one shape and layout are one flat loop over physical elements.
template <class T, class Y, class F>
KernelPtr make_binary(const KernelContext& c, F f) {
  const Shape& out = c.output().shape;
  if (c.input(0).shape == out && c.input(1).shape == out) {
    const auto n = static_cast<std::int64_t>(c.output().bytes() / sizeof(Y));
    return simple_kernel([n, f](const Buffers& b, const Step&) {
      parallel_for(n, kPointwiseGrain, [&](std::int64_t begin, std::int64_t end) {
        apply_binary(b.in<T>(0) + begin, 1, b.in<T>(1) + begin, 1, b.out<Y>() + begin, end - begin, f);
      });
    });
  }
  const StridedLoop<2> loop(out, {broadcast_strides(c.input(0).shape, out), broadcast_strides(c.input(1).shape, out)});
  return simple_kernel([loop, f](const Buffers& b, const Step&) {
    const T *x = b.in<T>(0), *z = b.in<T>(1);
    Y* y = b.out<Y>();
    loop.run([&](std::int64_t at, const auto& offsets, std::int64_t count) {
      apply_binary(x + offsets[0], loop.step(0), z + offsets[1], loop.step(1), y + at, count, f);
    });
  });
}

template <class Types, class F>
KernelRegistration define_binary_kernel(const char* op, ZeroIf zero, F f) {
  return define_kernel(op)
      .layout_blind(zero != ZeroIf::never)
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

}  // namespace belfry
