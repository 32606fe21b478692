// y[batch][m, n] = a[batch][m, k] b[batch][k, n]. f32 with AVX-512: oneDNN's, if no batch is broadcast; it takes a
// tenth to a third less time than our blocked product. Without AVX-512 oneDNN has none for batches: its product of
// single matrices, called for each, is as fast as ours on large matrices (faster if a is transposed) and takes
// more than twice the time on small ones. So there, and in all other cases of f32: our own, with whole products per
// thread, or parts of their rows if there are too few. f64: loops.
#include "belfry/engine/cpu/matmul/batched_matmul.h"

#include <oneapi/dnnl/dnnl.h>

#include <algorithm>

#include "belfry/engine/cpu/dnnl/dnnl_kernel.h"
#include "belfry/engine/cpu/kernel/bf16_support.h"
#include "belfry/engine/cpu/kernel/kernel_dispatch.h"
#include "belfry/engine/cpu/kernel/strided_loop.h"
#include "belfry/engine/cpu/lanes/shares.h"
#include "belfry/engine/cpu/matmul/bf16_gemm.h"

namespace belfry {
namespace {

struct Problem {
  explicit Problem(const KernelContext& c)
      : m(c.output().shape[-2]),
        n(c.output().shape[-1]),
        k(c.input(0).shape[c.attributes->flag("transpose_a") ? -2 : -1]),
        transpose_a(c.attributes->flag("transpose_a")),
        transpose_b(c.attributes->flag("transpose_b")),
        bf16(takes_tiles(c)),
        batch(batch_of(c.output()), {strides(c.input(0), c.output()), strides(c.input(1), c.output())}) {}

  static Shape batch_of(const TensorInfo& t) { return t.shape.slice(0, t.shape.rank() - 2); }
  // In matrices.
  static Strides strides(const TensorInfo& operand, const TensorInfo& y) {
    return broadcast_strides(batch_of(operand), batch_of(y));
  }

  std::int64_t m, n, k;
  bool transpose_a, transpose_b, bf16;
  StridedLoop<2> batch;
};

// Rows [m * part / parts, m * (part + 1) / parts) of one product.
void multiply_rows(const Problem& p, const Buffers& b, std::int64_t item, std::int64_t part, std::int64_t parts,
                   void* scratch) {
  const std::int64_t first = p.m * part / parts, rows = p.m * (part + 1) / parts - first;
  const auto at = p.batch.offsets(item);
  const GemmProduct product{
      .m = rows,
      .n = p.n,
      .k = p.k,
      .a = {.data = b.in<float>(0) + at[0] * p.m * p.k + (p.transpose_a ? first : first * p.k),
            .row = p.transpose_a ? p.m : p.k,
            .transposed = p.transpose_a},
      .b = {.data = b.in<float>(1) + at[1] * p.k * p.n, .row = p.transpose_b ? p.k : p.n, .transposed = p.transpose_b},
      .y = b.out<float>() + (item * p.m + first) * p.n,
      .y_row = p.n};
  p.bf16 ? bf16_gemm(product, false, scratch) : gemm(product, scratch);
}

// Whole products, or as many parts of each one's rows as leave no thread idle.
KernelPtr make_blocked(const KernelContext& c) {
  constexpr std::int64_t kGrain = 100'000;  // multiplications that are worth waking a thread
  const Problem p(c);
  const std::int64_t parts = std::clamp<std::int64_t>(c.threads / p.batch.elements(), 1, (p.m + 15) / 16);
  const std::int64_t grain = kGrain / std::max<std::int64_t>(1, p.m * p.n * p.k / parts);
  const std::size_t share =
      p.bf16 ? bf16_gemm_scratch_bytes(p.m, p.n, p.k) : gemm_scratch_bytes(p.m, p.n, p.k, p.transpose_a);
  const auto run = [p, parts, grain, share](const Buffers& b, const Step&) {
    for_each_share(p.batch.elements() * parts, grain, b.scratch, share,
                   [&](std::int64_t begin, std::int64_t end, void* scratch) {
                     for (std::int64_t unit = begin; unit < end; ++unit)
                       multiply_rows(p, b, unit / parts, unit % parts, parts, scratch);
                   });
  };
  return simple_kernel(run, share * static_cast<std::size_t>(c.threads));
}

template <class T>
void multiply_slowly(const Problem& p, const T* a, const T* b, T* y) {
  const std::int64_t a_row = p.transpose_a ? 1 : p.k, a_step = p.transpose_a ? p.m : 1;
  const std::int64_t b_step = p.transpose_b ? 1 : p.n, b_column = p.transpose_b ? p.k : 1;
  for (std::int64_t i = 0; i < p.m; ++i)
    for (std::int64_t j = 0; j < p.n; ++j) {
      T sum = 0;
      for (std::int64_t x = 0; x < p.k; ++x) sum += a[i * a_row + x * a_step] * b[x * b_step + j * b_column];
      y[i * p.n + j] = sum;
    }
}

KernelPtr make_slow(const KernelContext& c) {
  return make_for<Floats>(c, c.output().dtype, [&]<class T>() {
    return simple_kernel([p = Problem(c)](const Buffers& b, const Step&) {
      parallel_for(p.batch.elements(), 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t item = begin; item < end; ++item) {
          const auto at = p.batch.offsets(item);
          multiply_slowly(p, b.in<T>(0) + at[0] * p.m * p.k, b.in<T>(1) + at[1] * p.k * p.n,
                          b.out<T>() + item * p.m * p.n);
        }
      });
    });
  });
}

// Row-major matrices, or transposes of such.
dnnl_memory_desc_t matrices(std::int64_t count, std::int64_t rows, std::int64_t columns, bool transposed) {
  const dnnl_dims_t dims{count, rows, columns},
      strides{rows * columns, transposed ? 1 : columns, transposed ? rows : 1};
  dnnl_memory_desc_t out;
  dnnl_check(dnnl_memory_desc_init_by_strides(&out, 3, dims, dnnl_f32, strides), "descriptor of matrices");
  return out;
}

bool is_for_dnnl(const KernelContext& c) {
  const auto whole = [&](const TensorInfo& operand) {
    return Problem::batch_of(operand).elements() == Problem::batch_of(c.output()).elements();
  };
  return cpu_isa() == Isa::avx512 && !takes_tiles(c) && whole(c.input(0)) && whole(c.input(1));
}

KernelPtr make_dnnl(const KernelContext& c) {
  const Problem p(c);
  const std::int64_t count = p.batch.elements();
  const dnnl_memory_desc_t a = matrices(count, p.m, p.k, p.transpose_a), b = matrices(count, p.k, p.n, p.transpose_b),
                           y = matrices(count, p.m, p.n, false);
  dnnl_matmul_desc_t desc;
  dnnl_check(dnnl_matmul_desc_init(&desc, &a, &b, nullptr, &y), "matmul of batches");
  const DnnlAttributes attributes;
  const bool small = 2 * count * p.m * p.n * p.k < 2'000'000;  // done before a second thread has woken up
  return dnnl_kernel([&] { return make_descriptor(&desc, attributes, nullptr); },
                     {{.arg = DNNL_ARG_SRC, .input = 0, .descriptor = a},
                      {.arg = DNNL_ARG_WEIGHTS, .input = 1, .descriptor = b},
                      {.arg = DNNL_ARG_DST, .output = 0, .descriptor = y}},
                     small ? 1 : c.threads);
}

}  // namespace

KernelPtr make_batched_matmul(const KernelContext& c) {
  const bool empty = c.input(0).elements() == 0 || c.input(1).elements() == 0;
  if (c.output().dtype != f32 || empty) return make_slow(c);
  return is_for_dnnl(c) ? make_dnnl(c) : make_blocked(c);
}

}  // namespace belfry
