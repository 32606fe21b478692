#include "belfry/engine/cpu/pool/pool_loops.h"
#include "belfry/engine/cpu/pool/pool_simd.h"

namespace belfry::BELFRY_ISA {

void max_pool(const simd::MaxPoolSlab& a);
void max_pool_gradient(const simd::MaxPoolGradientSlab& a);

namespace {

struct SumReducer {
  Vec sum;
  float scale;
  void add(Vec v, int) { sum += v; }
};

struct AverageOp {
  const simd::AveragePoolSlab& a;

  SumReducer start(Range rows, Range cols) const {
    const std::int64_t cells =
        a.include_padding ? a.window.kernel_h * a.window.kernel_w : (rows.end - rows.begin) * (cols.end - cols.begin);
    return {Vec{}, 1.f / static_cast<float>(cells)};
  }
  template <class Access>
  void finish(const SumReducer& reducer, std::int64_t at, Access access) const {
    access.store(a.y + at, reducer.sum * splat(reducer.scale));
  }
};

struct AverageGradientOp {
  const float* dy;
  simd::PoolWindow window;
  bool include_padding;
  float whole;  // of a window that lies inside

  float scale(std::int64_t oy, std::int64_t ox) const {
    const simd::PoolWindow& w = window;
    const std::int64_t y = oy * w.stride_h - w.pad_top, x = ox * w.stride_w - w.pad_left;
    const bool lies_inside = y >= 0 && x >= 0 && y + w.kernel_h <= w.in_h && x + w.kernel_w <= w.in_w;
    if (include_padding || lies_inside) return whole;
    const Range rows = inside(y, 1, w.kernel_h, w.in_h), cols = inside(x, 1, w.kernel_w, w.in_w);
    return 1.f / static_cast<float>((rows.end - rows.begin) * (cols.end - cols.begin));
  }
  template <class Access>
  Vec part(std::int64_t oy, std::int64_t ox, std::int64_t at, int, Access access) const {
    return access.load(dy + at) * splat(scale(oy, ox));
  }
};

void average_pool(const simd::AveragePoolSlab& a) { reduce_windows_of(AverageOp{a}, a.window, a.x, a.begin, a.end); }

void average_pool_gradient(const simd::AveragePoolGradientSlab& a) {
  const float whole = 1.f / static_cast<float>(a.window.kernel_h * a.window.kernel_w);
  hand_back(AverageGradientOp{a.dy, a.window, a.include_padding, whole}, a.window, a.dx, a.begin, a.end);
}

}  // namespace

const simd::PoolingKernels kPooling = {max_pool, max_pool_gradient, average_pool, average_pool_gradient};

}  // namespace belfry::BELFRY_ISA
