#include <cmath>
#include <limits>

#include "belfry/engine/cpu/kernel/kernel_dispatch.h"
#include "belfry/engine/cpu/reduce/reduction.h"

namespace belfry {
namespace {

template <class T>
struct MeanFold : SumFold<T> {
  explicit MeanFold(std::int64_t n) : count(static_cast<double>(n)) {}
  T finish(double sum) const { return static_cast<T>(sum / count); }
  double count;
};

template <class T>
struct ProdFold : SumFold<T> {
  using Accumulator = typename SumFold<T>::Accumulator;
  Accumulator start() const { return 1; }
  Accumulator take(Accumulator a, T x) const { return a * static_cast<Accumulator>(x); }
  Accumulator join(Accumulator a, Accumulator b) const { return a * b; }
};

template <class T>
struct NormFold : SumFold<T> {
  double take(double a, T x) const { return a + static_cast<double>(x) * static_cast<double>(x); }
  T finish(double sum) const { return static_cast<T>(std::sqrt(sum)); }
};

struct AnyFold {
  using Accumulator = std::uint8_t;
  Accumulator start() const { return 0; }
  Accumulator take(Accumulator a, bool x) const { return a | static_cast<Accumulator>(x); }
  Accumulator join(Accumulator a, Accumulator b) const { return a | b; }
  bool finish(Accumulator a) const { return a != 0; }
};
struct AllFold : AnyFold {
  Accumulator start() const { return 1; }
  Accumulator take(Accumulator a, bool x) const { return a & static_cast<Accumulator>(x); }
  Accumulator join(Accumulator a, Accumulator b) const { return a & b; }
};

// NaN wins over everything, in either direction.
template <class T>
struct MaxFold {
  using Accumulator = T;
  T start() const {
    return std::is_integral_v<T> ? std::numeric_limits<T>::lowest() : -std::numeric_limits<T>::infinity();
  }
  T take(T a, T x) const { return x > a || x != x ? x : a; }
  T join(T a, T b) const { return take(a, b); }
  T finish(T a) const { return a; }
};
template <class T>
struct MinFold {
  using Accumulator = T;
  T start() const { return std::is_integral_v<T> ? std::numeric_limits<T>::max() : std::numeric_limits<T>::infinity(); }
  T take(T a, T x) const { return x < a || x != x ? x : a; }
  T join(T a, T b) const { return take(a, b); }
  T finish(T a) const { return a; }
};

AxisSet axes_of(const KernelContext& c) {
  AxisSet out{};
  for (std::int64_t axis : c.attributes->get<Ints>("axes")) out[static_cast<std::size_t>(axis)] = true;
  return out;
}

template <class T, class Fold>
KernelPtr make_reduce(const Reduction& reduction, Fold fold) {
  return simple_kernel(
      [reduction, fold](const Buffers& b, const Step&) { reduction.run(b.in<T>(0), b.out<T>(), b.scratch, fold); },
      reduction.scratch_bytes<Fold>());
}

template <template <class> class Fold>
KernelRegistration define_reduce_kernel(const char* op) {
  return define_kernel(op).make([](const KernelContext& c) {
    return make_for<Numbers>(c, c.output().dtype, [&]<class T>() {
      return make_reduce<T>(Reduction(c.input(0).shape, axes_of(c)), Fold<T>{});
    });
  });
}

const KernelRegistration sum_kernel = define_reduce_kernel<SumFold>("ReduceSum");
const KernelRegistration prod_kernel = define_reduce_kernel<ProdFold>("ReduceProd");
const KernelRegistration max_kernel = define_reduce_kernel<MaxFold>("ReduceMax");
const KernelRegistration min_kernel = define_reduce_kernel<MinFold>("ReduceMin");
const KernelRegistration mean_kernel = define_kernel("ReduceMean").make([](const KernelContext& c) {
  return make_for<Floats>(c, c.output().dtype, [&]<class T>() {
    const Reduction reduction(c.input(0).shape, axes_of(c));
    return make_reduce<T>(reduction, MeanFold<T>(reduction.folded()));
  });
});

const KernelRegistration l2_norm_kernel = define_kernel("L2Norm").make([](const KernelContext& c) {
  return make_for<Floats>(c, c.output().dtype, [&]<class T>() {
    return make_reduce<T>(Reduction(c.input(0).shape, axes_of(c)), NormFold<T>{});
  });
});
const KernelRegistration any_kernel = define_kernel("ReduceAny").make([](const KernelContext& c) {
  return make_reduce<bool>(Reduction(c.input(0).shape, axes_of(c)), AnyFold{});
});
const KernelRegistration all_kernel = define_kernel("ReduceAll").make([](const KernelContext& c) {
  return make_reduce<bool>(Reduction(c.input(0).shape, axes_of(c)), AllFold{});
});

const KernelRegistration count_kernel = define_kernel("ReducedCount").make([](const KernelContext& c) {
  return make_for<Numbers>(c, c.output().dtype, [&]<class T>() {
    std::int64_t count = 1;
    for (std::int64_t axis : c.attributes->get<Ints>("axes")) count *= c.input(0).shape[static_cast<int>(axis)];
    return simple_kernel([count](const Buffers& b, const Step&) { *b.out<T>() = static_cast<T>(count); });
  });
});

}  // namespace
}  // namespace belfry
