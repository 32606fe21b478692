#include "belfry/engine/cpu/pool/pool_team.h"

#include <algorithm>

#include "belfry/base/parallel.h"
#include "belfry/engine/cpu/lanes/lane_plan.h"
#include "belfry/engine/cpu/pool/pool_simd.h"

namespace belfry {

namespace {

simd::PoolWindow window_of(const Pooling& p) {
  return {.inner = p.inner,
          .in_h = p.height,
          .in_w = p.width,
          .out_h = p.out_height(),
          .out_w = p.out_width(),
          .kernel_h = p.kernel_h,
          .kernel_w = p.kernel_w,
          .stride_h = p.stride_h,
          .stride_w = p.stride_w,
          .pad_top = p.pad_top,
          .pad_left = p.pad_left};
}

// The setup of each pass: the window, the kernels, a slab's size before and after.
struct Pass {
  Pass(const Pooling& p, Isa isa)
      : pooling(p),
        window(window_of(p)),
        kernels(by_isa(isa, avx2::kPooling, avx512::kPooling)),
        in(p.height * p.width * p.inner),
        out(window.out_h * window.out_w * p.inner) {}

  // Distributes the rows of the result.
  void for_each(std::int64_t rows, FunctionRef<void(const SlabRows&)> body) const {
    if (pooling.inner == 0) return;
    for_each_slab(pooling.outer * pooling.groups, rows, parts_worth(pooling.in_elements() * 4, team_size()), body);
  }

  const Pooling& pooling;
  simd::PoolWindow window;
  const simd::PoolingKernels& kernels;
  std::int64_t in, out;
};

}  // namespace

void max_pool_forward(const MaxPoolForward& args) {
  const Pass pass(args.pooling, args.isa);
  pass.for_each(pass.window.out_h, [&](const SlabRows& s) {
    pass.kernels.max_pool({.window = pass.window,
                           .begin = s.begin,
                           .end = s.end,
                           .x = args.x + s.slab * pass.in,
                           .y = args.y + s.slab * pass.out,
                           .index = args.index ? args.index + s.slab * pass.out : nullptr});
  });
}

void max_pool_backward(const MaxPoolBackward& args) {
  const Pass pass(args.pooling, args.isa);
  pass.for_each(pass.window.in_h, [&](const SlabRows& s) {
    const std::int64_t at = s.slab * pass.out;
    pass.kernels.max_pool_gradient({.window = pass.window,
                                    .begin = s.begin,
                                    .end = s.end,
                                    .dy = args.dy + at,
                                    .y = args.y ? args.y + at : nullptr,
                                    .index = args.index + at,
                                    .dx = args.dx + s.slab * pass.in});
  });
}

void average_pool_forward(const AveragePoolForward& args) {
  const Pass pass(args.pooling, args.isa);
  pass.for_each(pass.window.out_h, [&](const SlabRows& s) {
    pass.kernels.average_pool(
        {pass.window, s.begin, s.end, args.x + s.slab * pass.in, args.y + s.slab * pass.out, args.include_padding});
  });
}

void average_pool_backward(const AveragePoolBackward& args) {
  const Pass pass(args.pooling, args.isa);
  pass.for_each(pass.window.in_h, [&](const SlabRows& s) {
    pass.kernels.average_pool_gradient(
        {pass.window, s.begin, s.end, args.dy + s.slab * pass.out, args.dx + s.slab * pass.in, args.include_padding});
  });
}

}  // namespace belfry
