#include <cmath>

#include "belfry/engine/cpu/recurrent/lstm_simd.h"
#include "belfry/engine/cpu/recurrent/recurrent.h"
#include "belfry/engine/flops.h"

namespace belfry {
namespace {

const simd::LstmKernels& lstm_kernels() { return by_isa(cpu_isa(), avx2::kLstm, avx512::kLstm); }

// One row of one step, of f32 or f64; see lstm_simd.h for the formulas.
template <class T>
struct LstmRow {
  std::int64_t units;
  T* gates;
  const T* c_before;
  T *c, *h, *next;
};
template <class T>
struct LstmRowGrad {
  std::int64_t units;
  const T *gates, *c_before, *c, *dh;
  T *dstate, *dc, *dgates;
};

void forward(const LstmRow<float>& r) {
  lstm_kernels().forward(
      {.units = r.units, .gates = r.gates, .c_before = r.c_before, .c = r.c, .h = r.h, .next = r.next});
}
void backward(const LstmRowGrad<float>& r) {
  lstm_kernels().backward({.units = r.units,
                           .gates = r.gates,
                           .c_before = r.c_before,
                           .c = r.c,
                           .dh = r.dh,
                           .dstate = r.dstate,
                           .dc = r.dc,
                           .dgates = r.dgates});
}

void forward(const LstmRow<double>& r) {
  for (std::int64_t k = 0; k < r.units; ++k) {
    double *gate = r.gates + k, &i = gate[0], &f = gate[r.units], &g = gate[2 * r.units], &o = gate[3 * r.units];
    i = sigmoid(i), f = sigmoid(f), g = std::tanh(g), o = sigmoid(o);
    r.c[k] = f * r.c_before[k] + i * g;
    r.h[k] = r.next[k] = o * std::tanh(r.c[k]);
  }
}
void backward(const LstmRowGrad<double>& r) {
  const std::int64_t n = r.units;
  for (std::int64_t k = 0; k < n; ++k) {
    const double i = r.gates[k], f = r.gates[k + n], g = r.gates[k + 2 * n], o = r.gates[k + 3 * n];
    const double t = std::tanh(r.c[k]), dh = r.dh[k] + r.dstate[k], dc = r.dc[k] + dh * o * (1 - t * t);
    r.dgates[k] = dc * g * i * (1 - i);
    r.dgates[k + n] = dc * r.c_before[k] * f * (1 - f);
    r.dgates[k + 2 * n] = dc * i * (1 - g * g);
    r.dgates[k + 3 * n] = dh * t * o * (1 - o);
    r.dstate[k] = 0;
    r.dc[k] = dc * f;
  }
}

// gates [time batch, 4 units], x, w_h [units, 4 units], h0, c0 [batch, units] (, lengths)
// -> h [time, batch, units], h_last, c_last, activations [time batch, 4 units], previous, c [time batch, units]
template <class T>
class LstmForward {
 public:
  LstmForward(const KernelContext& c, const SequenceShape& shape)
      : pass_{shape, {.depth = shape.units, .columns = 4 * shape.units}, {c, shape, c.inputs.size() > 5 ? 5 : -1}} {}

  std::size_t scratch_bytes() const { return pass_.scratch_bytes(); }
  void run(const Buffers& b) const {
    pass_.run(b, b.in<T>(2), [&](const T* weights, const std::int64_t* lengths, std::int64_t begin, std::int64_t end) {
      run_rows(b, weights, lengths, begin, end);
    });
  }

 private:
  void run_rows(const Buffers& b, const T* weights, const std::int64_t* lengths, std::int64_t begin,
                std::int64_t end) const {
    const SequenceShape& shape = pass_.shape;
    const std::int64_t n = shape.units, count = end - begin;
    T *gates = b.out<T>(3), *previous = b.out<T>(4), *cells = b.out<T>(5);
    // The state before step t, where t == time is the end.
    const auto state = [&](std::int64_t t) {
      return (t < shape.time ? previous + t * shape.batch * n : b.out<T>(1)) + begin * n;
    };
    std::copy_n(b.in<T>(3) + begin * n, count * n, state(0));
    const T* c_before = b.in<T>(4) + begin * n;
    for (std::int64_t t = 0; t < shape.time; ++t) {
      const std::int64_t first = t * shape.batch + begin;
      T *a = gates + first * 4 * n, *c = cells + first * n, *h = b.out<T>(0) + first * n;
      if (b.in<T>(0) != gates) std::copy_n(b.in<T>(0) + first * 4 * n, count * 4 * n, a);
      pass_.product.multiply_add(state(t), weights, a, count);
      for (std::int64_t r = 0; r < count; ++r) {
        const std::int64_t at = r * n;
        if (t < lengths[begin + r])
          forward(LstmRow<T>{n, a + 4 * at, c_before + at, c + at, h + at, state(t + 1) + at});
        else
          skip(n, state(t) + at, c_before + at, c + at, h + at, state(t + 1) + at);
      }
      c_before = c;
    }
    std::copy_n(c_before, count * n, b.out<T>(2) + begin * n);
  }

  // Past its length a row keeps its state and outputs zeros.
  static void skip(std::int64_t n, const T* before, const T* c_before, T* c, T* h, T* next) {
    std::copy_n(before, n, next);
    std::copy_n(c_before, n, c);
    std::fill_n(h, n, T{});
  }

  SequencePass<T> pass_;
};

// x, w_h, c0, activations, c, dh [time, batch, units], dh_last, dc_last (, lengths) -> dgates, dh0, dc0
template <class T>
class LstmBackward {
 public:
  LstmBackward(const KernelContext& c, const SequenceShape& shape)
      : pass_{shape,
              {.depth = 4 * shape.units, .columns = shape.units, .transposed = true},
              {c, shape, c.inputs.size() > 8 ? 8 : -1}} {}

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
    T *dstate = b.out<T>(1) + begin * n, *dc = b.out<T>(2) + begin * n;  // running, from the last step to the first
    std::copy_n(b.in<T>(6) + begin * n, count * n, dstate);
    std::copy_n(b.in<T>(7) + begin * n, count * n, dc);
    for (std::int64_t t = shape.time - 1; t >= 0; --t) {
      const std::int64_t first = t * shape.batch + begin;
      const T *gates = b.in<T>(3) + first * 4 * n, *c = b.in<T>(4) + first * n, *dh = b.in<T>(5) + first * n;
      const T* c_before = t > 0 ? c - shape.batch * n : b.in<T>(2) + begin * n;
      T* da = b.out<T>(0) + first * 4 * n;
      for (std::int64_t r = 0; r < count; ++r) {
        const std::int64_t at = r * n;
        if (t < lengths[begin + r])
          backward(
              LstmRowGrad<T>{n, gates + 4 * at, c_before + at, c + at, dh + at, dstate + at, dc + at, da + 4 * at});
        else
          std::fill_n(da + 4 * at, 4 * n, T{});  // the state's gradient passes through
      }
      pass_.product.multiply_add(da, weights, dstate, count);
    }
  }

  SequencePass<T> pass_;
};

const KernelRegistration lstm_kernel =
    define_kernel("LstmSequence").keeps_f32().flops(recurrent_flops).in_place(0, 3).make([](const KernelContext& c) {
      return make_sequence_kernel<LstmForward>(c, c.input(1).shape, c.input(2).shape[0]);
    });
const KernelRegistration lstm_grad_kernel =
    define_kernel("LstmSequenceGrad").keeps_f32().in_place(3, 0).make([](const KernelContext& c) {
      return make_sequence_kernel<LstmBackward>(c, c.input(0).shape, c.input(1).shape[0]);
    });

}  // namespace
}  // namespace belfry
