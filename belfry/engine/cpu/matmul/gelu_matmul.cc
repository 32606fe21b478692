// Matrix products with gelu in the same pass over memory: "MatMulGelu" forward, which keeps gelu's slope for the
// gradient, and "MatMulScaled" backward, which multiplies by it and sums the columns for the bias. Uses our blocked
// product, whose rows can be worked on while they are in the cache.
#include "belfry/engine/cpu/kernel/bf16_support.h"
#include "belfry/engine/cpu/kernel/kernel.h"
#include "belfry/engine/cpu/matmul/fused_gemm.h"
#include "belfry/engine/flops.h"

namespace belfry {
namespace {

// a [rows, k] times b [k, n], or b [n, k] transposed.
GemmProduct product_of(const KernelContext& c) {
  const Shape &a = c.input(0).shape, &y = c.output().shape;
  const std::int64_t k = a[-1], n = y[-1];
  const bool transposed = c.attributes->flag("transpose_b");
  return {.m = c.output().elements() / n,
          .n = n,
          .k = k,
          .a = {.row = k},
          .b = {.row = transposed ? k : n, .transposed = transposed},
          .y_row = n,
          .bf16 = takes_tiles(c)};
}

GemmProduct bound(GemmProduct p, const Buffers& b) {
  p.a.data = b.in<float>(0);
  p.b.data = b.in<float>(1);
  p.y = b.out<float>(0);
  return p;
}

// Inputs a, b, bias; outputs y, then the slope and the product before gelu if the attributes of those names are set.
const KernelRegistration gelu_kernel = define_kernel("MatMulGelu").flops(matmul_flops).make([](const KernelContext& c) {
  int next = 1;
  const int slope = c.attributes->flag("slope") ? next++ : -1, before = c.attributes->flag("before") ? next++ : -1;
  const GemmProduct p = product_of(c);
  const auto run = [p, slope, before](const Buffers& b, const Step&) {
    FusedGemm args{.product = bound(p, b),
                   .gelu = true,
                   .slope = slope < 0 ? nullptr : b.out<float>(slope),
                   .before = before < 0 ? nullptr : b.out<float>(before)};
    args.product.start = b.in<float>(2);
    fused_gemm(args, b.scratch);
  };
  return simple_kernel(run, fused_gemm_scratch_bytes(p, c.threads));
});

// Inputs a, b, factor; outputs y = a b * factor and, if there are two, the sums of its columns.
const KernelRegistration scaled_kernel =
    define_kernel("MatMulScaled").flops(matmul_flops).make([](const KernelContext& c) {
      const GemmProduct p = product_of(c);
      const auto run = [p, sums = c.outputs.size() > 1](const Buffers& b, const Step&) {
        fused_gemm({.product = bound(p, b), .factor = b.in<float>(2), .sums = sums ? b.out<float>(1) : nullptr},
                   b.scratch);
      };
      return simple_kernel(run, fused_gemm_scratch_bytes(p, c.threads));
    });

}  // namespace
}  // namespace belfry
