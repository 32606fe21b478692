#include <cmath>

#include "belfry/engine/cpu/recurrent/gru_simd.h"
#include "belfry/engine/cpu/recurrent/recurrent.h"
#include "belfry/engine/flops.h"

namespace belfry {
namespace {

const simd::GruKernels& gru_kernels() { return by_isa(cpu_isa(), avx2::kGru, avx512::kGru); }

// One row of one step, of f32 or f64; see gru_simd.h for the formulas.
template <class T>
struct GruRow {
  std::int64_t units;
  T* gates;
  const T *sums, *before;
  T *candidate, *h, *next;
};
template <class T>
struct GruRowGrad {
  std::int64_t units;
  const T *gates, *candidate, *before, *dh;
  T *dstate, *dgates, *dsums;
};

void forward(const GruRow<float>& r) {
  gru_kernels().forward({.units = r.units,
                         .gates = r.gates,
                         .sums = r.sums,
                         .before = r.before,
                         .candidate = r.candidate,
                         .h = r.h,
                         .next = r.next});
}
void backward(const GruRowGrad<float>& r) {
  gru_kernels().backward({.units = r.units,
                          .gates = r.gates,
                          .candidate = r.candidate,
                          .before = r.before,
                          .dh = r.dh,
                          .dstate = r.dstate,
                          .dgates = r.dgates,
                          .dsums = r.dsums});
}

void forward(const GruRow<double>& row) {
  const std::int64_t units = row.units;
  for (std::int64_t k = 0; k < units; ++k) {
    double &r = row.gates[k], &z = row.gates[k + units], &n = row.gates[k + 2 * units];
    row.candidate[k] = row.sums[k + 2 * units];
    r = sigmoid(r + row.sums[k]);
    z = sigmoid(z + row.sums[k + units]);
    n = std::tanh(n + r * row.candidate[k]);
    row.h[k] = row.next[k] = n + z * (row.before[k] - n);
  }
}
void backward(const GruRowGrad<double>& row) {
  const std::int64_t units = row.units;
  for (std::int64_t k = 0; k < units; ++k) {
    const double r = row.gates[k], z = row.gates[k + units], n = row.gates[k + 2 * units];
    const double dh = row.dh[k] + row.dstate[k], da_n = dh * (1 - z) * (1 - n * n);
    row.dgates[k] = row.dsums[k] = da_n * row.candidate[k] * r * (1 - r);
    row.dgates[k + units] = row.dsums[k + units] = dh * (row.before[k] - n) * z * (1 - z);
    row.dgates[k + 2 * units] = da_n;
    row.dsums[k + 2 * units] = da_n * r;
    row.dstate[k] = dh * z;
  }
}

// gates [time batch, 3 units], x, w_h [units, 3 units], b_h [3 units], h0 [batch, units] (, lengths)
// -> h [time, batch, units], h_last, activations [time batch, 3 units], candidate, previous [time batch, units]
template <class T>
class GruForward {
 public:
  GruForward(const KernelContext& c, const SequenceShape& shape)
      : pass_{shape, {.depth = shape.units, .columns = 3 * shape.units}, {c, shape, c.inputs.size() > 5 ? 5 : -1}} {}

  std::size_t scratch_bytes() const {
    return sums_offset() + static_cast<std::size_t>(pass_.shape.batch * 3 * pass_.shape.units) * sizeof(T);
  }
  void run(const Buffers& b) const {
    pass_.run(b, b.in<T>(2), [&](const T* weights, const std::int64_t* lengths, std::int64_t begin, std::int64_t end) {
      run_rows(b, weights, lengths, begin, end);
    });
  }

 private:
  std::size_t sums_offset() const { return cache_lines(pass_.scratch_bytes()); }

  void run_rows(const Buffers& b, const T* weights, const std::int64_t* lengths, std::int64_t begin,
                std::int64_t end) const {
    const SequenceShape& shape = pass_.shape;
    const std::int64_t n = shape.units, count = end - begin;
    T *gates = b.out<T>(2), *candidates = b.out<T>(3), *previous = b.out<T>(4);
    T* sums = reinterpret_cast<T*>(static_cast<std::byte*>(b.scratch) + sums_offset()) + begin * 3 * n;
    // The state before step t, where t == time is the end.
    const auto state = [&](std::int64_t t) {
      return (t < shape.time ? previous + t * shape.batch * n : b.out<T>(1)) + begin * n;
    };
    std::copy_n(b.in<T>(4) + begin * n, count * n, state(0));
    for (std::int64_t t = 0; t < shape.time; ++t) {
      const std::int64_t first = t * shape.batch + begin;
      T *a = gates + first * 3 * n, *candidate = candidates + first * n, *h = b.out<T>(0) + first * n;
      if (b.in<T>(0) != gates) std::copy_n(b.in<T>(0) + first * 3 * n, count * 3 * n, a);
      for (std::int64_t r = 0; r < count; ++r) std::copy_n(b.in<T>(3), 3 * n, sums + r * 3 * n);
      pass_.product.multiply_add(state(t), weights, sums, count);
      for (std::int64_t r = 0; r < count; ++r) {
        const std::int64_t at = r * n;
        if (t < lengths[begin + r]) {
          forward(GruRow<T>{n, a + 3 * at, sums + 3 * at, state(t) + at, candidate + at, h + at, state(t + 1) + at});
        } else {  // past its length a row keeps its state and outputs zeros
          std::copy_n(state(t) + at, n, state(t + 1) + at);
          std::fill_n(h + at, n, T{});
        }
      }
    }
  }

  SequencePass<T> pass_;
};

// x, w_h, activations, candidate, previous, dh [time, batch, units], dh_last (, lengths) -> dgates, dsums, dh0
template <class T>
class GruBackward {
 public:
  GruBackward(const KernelContext& c, const SequenceShape& shape)
      : pass_{shape,
              {.depth = 3 * shape.units, .columns = shape.units, .transposed = true},
              {c, shape, c.inputs.size() > 7 ? 7 : -1}} {}

  std::size_t scratch_bytes() const { return pass_.scratch_bytes(); }
  void run(const Buffers& b) const {
    pass_.run(b, b.in<T>(1), [&](const T* weights, const std::int64_t* lengths, std::int64_t begin, std::int64_t end) {
      run_rows(b, weights, lengths, begin, end);
    });
  }

 private:
  void run_rows(const Buffers& b, const T* weights, const std::int64_t* lengths, std::int64_t begin,
                std::int64_t end) const {
    const SequenceShape& shape = pass_.shape;
    const std::int64_t n = shape.units, count = end - begin;
    T* dstate = b.out<T>(2) + begin * n;  // running, from the last step to the first
    std::copy_n(b.in<T>(6) + begin * n, count * n, dstate);
    for (std::int64_t t = shape.time - 1; t >= 0; --t) {
      const std::int64_t first = t * shape.batch + begin;
      T *da = b.out<T>(0) + first * 3 * n, *ds = b.out<T>(1) + first * 3 * n;
      for (std::int64_t r = 0; r < count; ++r) {
        const std::int64_t at = (first + r) * n;
        if (t < lengths[begin + r]) {
          backward(GruRowGrad<T>{n, b.in<T>(2) + 3 * at, b.in<T>(3) + at, b.in<T>(4) + at, b.in<T>(5) + at,
                                 dstate + r * n, da + r * 3 * n, ds + r * 3 * n});
        } else {  // the state's gradient passes through
          std::fill_n(da + r * 3 * n, 3 * n, T{});
          std::fill_n(ds + r * 3 * n, 3 * n, T{});
        }
      }
      pass_.product.multiply_add(ds, weights, dstate, count);
    }
  }

  SequencePass<T> pass_;
};

const KernelRegistration gru_kernel =
    define_kernel("GruSequence").keeps_f32().flops(recurrent_flops).in_place(0, 2).make([](const KernelContext& c) {
      return make_sequence_kernel<GruForward>(c, c.input(1).shape, c.input(2).shape[0]);
    });
const KernelRegistration gru_grad_kernel =
    define_kernel("GruSequenceGrad").keeps_f32().in_place(2, 0).make([](const KernelContext& c) {
      return make_sequence_kernel<GruBackward>(c, c.input(0).shape, c.input(1).shape[0]);
    });

}  // namespace
}  // namespace belfry
