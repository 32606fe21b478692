// Shared by the kernels of recurrent layers: the shape of a sequence, its lengths, and products with the recurrent
// weights. Rows of the batch are independent along a sequence, so each thread takes some of them through all steps,
// without waiting for the others; a row's bits do not depend on how they are distributed. Internal to engine/cpu.
#pragma once

#include <algorithm>
#include <cmath>

#include "belfry/base/parallel.h"
#include "belfry/engine/cpu/kernel/indices.h"
#include "belfry/engine/cpu/kernel/isa.h"
#include "belfry/engine/cpu/kernel/kernel.h"
#include "belfry/engine/cpu/kernel/kernel_dispatch.h"
#include "belfry/engine/cpu/lanes/lane_plan.h"
#include "belfry/engine/cpu/recurrent/panel_matmul_simd.h"

namespace belfry {

inline double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// x [time, batch, features]
struct SequenceShape {
  std::int64_t time = 0, batch = 0, units = 0;
  std::int64_t rows() const { return time * batch; }

  // body(begin, end) for ranges of the batch; a row's work at a step is a product with `weights` numbers.
  template <class Body>
  void for_rows(std::int64_t weights, Body body) const {
    constexpr std::int64_t kWork = 1 << 18;  // multiply-adds that make it worth waking a thread
    const std::int64_t work = std::max<std::int64_t>(time * weights, 1);
    parallel_for(batch, std::max<std::int64_t>(kWork / work, 1), body);
  }
};

// How many steps each row of the batch takes: all, or the number in a tensor.
class SequenceLengths {
 public:
  // `input` is the kernel's last one, or -1 if there are none.
  SequenceLengths(const KernelContext& c, const SequenceShape& shape, int input)
      : shape_(shape), input_(input), origin_(c.origin), wide_(input >= 0 && c.input(input).dtype == DType::i64) {}

  std::size_t scratch_bytes() const { return static_cast<std::size_t>(shape_.batch) * sizeof(std::int64_t); }

  // Fills lengths [batch].
  void read(const Buffers& b, std::int64_t* lengths) const {
    if (input_ < 0) return void(std::fill_n(lengths, shape_.batch, shape_.time));
    if (wide_)
      std::copy_n(b.in<std::int64_t>(input_), shape_.batch, lengths);
    else
      std::copy_n(b.in<std::int32_t>(input_), shape_.batch, lengths);
    const std::int64_t* bad =
        std::find_if(lengths, lengths + shape_.batch, [&](std::int64_t n) { return n < 0 || n > shape_.time; });
    if (bad != lengths + shape_.batch)
      fail_numeric(origin_, fmt::format("expected lengths of 0 to {} steps, got {} in row {} of {}. Check the data and "
                                        "how it was padded.",
                                        shape_.time, *bad, bad - lengths, shape_.batch));
  }

 private:
  SequenceShape shape_;
  int input_;
  const Node* origin_;
  bool wide_;
};

// c [rows, columns] += a [rows, depth] b, for a b that is prepared once per run.
struct StepProduct {
  std::int64_t depth = 0, columns = 0;
  bool transposed = false;  // b is stored as [columns, depth]

  template <class T>
  std::size_t scratch_bytes() const {
    return static_cast<std::size_t>(simd::packed_floats(depth, columns)) * sizeof(T);
  }

  void prepare(const float* b, float* packed) const {
    kernels().pack({.b = b, .depth = depth, .columns = columns, .transposed = transposed, .packed = packed});
  }
  void multiply_add(const float* a, const float* packed, float* c, std::int64_t rows) const {
    kernels().multiply_add({.a = a, .packed = packed, .c = c, .rows = rows, .depth = depth, .columns = columns});
  }

  void prepare(const double* b, double* packed) const {
    for (std::int64_t k = 0; k < depth; ++k)
      for (std::int64_t j = 0; j < columns; ++j)
        packed[k * columns + j] = transposed ? b[j * depth + k] : b[k * columns + j];
  }
  void multiply_add(const double* a, const double* packed, double* c, std::int64_t rows) const {
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t k = 0; k < depth; ++k)
        for (std::int64_t j = 0; j < columns; ++j) c[r * columns + j] += a[r * depth + k] * packed[k * columns + j];
  }

 private:
  static const simd::PanelKernels& kernels() { return by_isa(cpu_isa(), avx2::kPanels, avx512::kPanels); }
};

// One pass over a sequence, forwards or backwards: prepares the weights, reads the lengths, distributes the batch.
template <class T>
struct SequencePass {
  SequenceShape shape;
  StepProduct product;
  SequenceLengths lengths;

  std::size_t scratch_bytes() const { return packed_bytes() + lengths.scratch_bytes(); }

  // body(packed weights, lengths, begin, end) for ranges of the batch.
  template <class Body>
  void run(const Buffers& b, const T* weights, Body body) const {
    auto* packed = static_cast<T*>(b.scratch);
    auto* steps = reinterpret_cast<std::int64_t*>(static_cast<std::byte*>(b.scratch) + packed_bytes());
    lengths.read(b, steps);
    product.prepare(weights, packed);
    shape.for_rows(product.depth * product.columns,
                   [&](std::int64_t begin, std::int64_t end) { body(packed, steps, begin, end); });
  }

 private:
  std::size_t packed_bytes() const { return cache_lines(product.template scratch_bytes<T>()); }
};

// A kernel of Pass<T>, which is made from the context and the shape, says its scratch_bytes() and runs on buffers.
// (g++ 12 merges instantiations by the name of Pass, even in anonymous namespaces: each needs a different name.)
template <template <class> class Pass>
KernelPtr make_sequence_kernel(const KernelContext& c, const Shape& x, std::int64_t units) {
  return make_for<Floats>(c, c.output().dtype, [&]<class T>() {
    const Pass<T> pass(c, {.time = x[0], .batch = x[1], .units = units});
    return simple_kernel([pass](const Buffers& b, const Step&) { pass.run(b); }, pass.scratch_bytes());
  });
}

}  // namespace belfry
