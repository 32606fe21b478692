#include "belfry/engine/cpu/kernels/pooling.h"

#include <algorithm>

#include "belfry/base/check.h"
#include "belfry/base/parallel.h"
#include "belfry/engine/cpu/kernels/lane_plan.h"
#include "belfry/engine/cpu/simd/pooling.h"

namespace belfry {

namespace avx2 {
extern const simd::PoolingKernels pooling_table;
}
namespace avx512 {
extern const simd::PoolingKernels pooling_table;
}

const simd::PoolingKernels& simd::pooling_kernels(Isa isa) {
  return isa == Isa::avx512 ? avx512::pooling_table : avx2::pooling_table;
}

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

// Shares out rows of the result: calls body(slab, begin, end) for ranges of rows of one slab each.
void for_each_slab(const Pooling& p, std::int64_t rows,
                   FunctionRef<void(std::int64_t, std::int64_t, std::int64_t)> body) {
  const std::int64_t all = p.outer * p.groups * rows;
  if (all == 0 || p.inner == 0) return;
  const int parts = parts_worth(p.in_elements() * 4, team_size());
  run_parts(parts, [&](int part) {
    const std::int64_t last = all * (part + 1) / parts;
    for (std::int64_t at = all * part / parts; at < last;) {
      const std::int64_t slab = at / rows, end = std::min(last, (slab + 1) * rows);
      body(slab, at - slab * rows, end - slab * rows);
      at = end;
    }
  });
}

}  // namespace

void check_pooling(const Pooling& p, bool with_index) {
  BELFRY_CHECK(p.kernel_h >= 1 && p.kernel_w >= 1 && p.stride_h >= 1 && p.stride_w >= 1,
               "[pooling] expected a window and strides of at least 1, got window {}x{}, strides {}x{}.", p.kernel_h,
               p.kernel_w, p.stride_h, p.stride_w);
  const auto fits = [](std::int64_t pad, std::int64_t kernel) { return pad >= 0 && pad < kernel; };
  BELFRY_CHECK(fits(p.pad_top, p.kernel_h) && fits(p.pad_bottom, p.kernel_h) && fits(p.pad_left, p.kernel_w) &&
                   fits(p.pad_right, p.kernel_w),
               "[pooling] expected padding smaller than the window {}x{}, got top {}, bottom {}, left {}, right {}. "
               "Pad the input with an op of its own.",
               p.kernel_h, p.kernel_w, p.pad_top, p.pad_bottom, p.pad_left, p.pad_right);
  BELFRY_CHECK(!with_index || p.kernel_h * p.kernel_w <= 255,
               "[max_pool] expected a window of at most 255 cells, got {}x{}. Pool twice with smaller windows.",
               p.kernel_h, p.kernel_w);
}

void max_pool_forward(const MaxPoolForward& args) {
  const simd::PoolWindow window = window_of(args.pooling);
  const simd::PoolingKernels& kernels = simd::pooling_kernels(args.isa);
  const std::int64_t in = window.in_h * window.in_w * window.inner, out = window.out_h * window.out_w * window.inner;
  for_each_slab(args.pooling, window.out_h, [&](std::int64_t slab, std::int64_t begin, std::int64_t end) {
    kernels.max_pool({.window = window,
                      .begin = begin,
                      .end = end,
                      .x = args.x + slab * in,
                      .y = args.y + slab * out,
                      .index = args.index ? args.index + slab * out : nullptr});
  });
}

void max_pool_backward(const MaxPoolBackward& args) {
  const simd::PoolWindow window = window_of(args.pooling);
  const simd::PoolingKernels& kernels = simd::pooling_kernels(args.isa);
  const std::int64_t in = window.in_h * window.in_w * window.inner, out = window.out_h * window.out_w * window.inner;
  for_each_slab(args.pooling, window.in_h, [&](std::int64_t slab, std::int64_t begin, std::int64_t end) {
    kernels.max_pool_gradient({.window = window,
                               .begin = begin,
                               .end = end,
                               .dy = args.dy + slab * out,
                               .y = args.y ? args.y + slab * out : nullptr,
                               .index = args.index + slab * out,
                               .dx = args.dx + slab * in});
  });
}

void average_pool_forward(const AveragePoolForward& args) {
  const simd::PoolWindow window = window_of(args.pooling);
  const simd::PoolingKernels& kernels = simd::pooling_kernels(args.isa);
  const std::int64_t in = window.in_h * window.in_w * window.inner, out = window.out_h * window.out_w * window.inner;
  for_each_slab(args.pooling, window.out_h, [&](std::int64_t slab, std::int64_t begin, std::int64_t end) {
    kernels.average_pool({window, begin, end, args.x + slab * in, args.y + slab * out, args.include_padding});
  });
}

void average_pool_backward(const AveragePoolBackward& args) {
  const simd::PoolWindow window = window_of(args.pooling);
  const simd::PoolingKernels& kernels = simd::pooling_kernels(args.isa);
  const std::int64_t in = window.in_h * window.in_w * window.inner, out = window.out_h * window.out_w * window.inner;
  for_each_slab(args.pooling, window.in_h, [&](std::int64_t slab, std::int64_t begin, std::int64_t end) {
    kernels.average_pool_gradient(
        {window, begin, end, args.dy + slab * out, args.dx + slab * in, args.include_padding});
  });
}

}  // namespace belfry
