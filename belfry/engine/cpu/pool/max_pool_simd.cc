#include "belfry/engine/cpu/pool/pool_loops.h"
#include "belfry/engine/cpu/pool/pool_simd.h"

namespace belfry::BELFRY_ISA {

void max_pool(const simd::MaxPoolSlab& a);
void max_pool_gradient(const simd::MaxPoolGradientSlab& a);

namespace {

struct MaxReducer {
  Vec best;
  IntVec index;
  void add(Vec v, int k) { take_larger(best, index, v, k); }
};

template <bool with_index>
struct MaxOp {
  float* y;
  std::uint8_t* index;
  std::int64_t kernel_w;

  MaxReducer start(Range rows, Range cols) const {
    const int first = static_cast<int>(rows.begin * kernel_w + cols.begin);
    return {splat(-__builtin_inff()), IntVec{} + first};
  }
  template <class Access>
  void finish(const MaxReducer& reducer, std::int64_t at, Access access) const {
    access.store(y + at, reducer.best);
    if constexpr (with_index) access.store(index + at, reducer.index);
  }
};

template <bool with_y>
struct MaxGradientOp {
  const float* dy;
  const float* y;
  const std::uint8_t* index;

  template <class Access>
  Vec gradient(std::int64_t at, Access access) const {
    const Vec g = access.load(dy + at);
    if constexpr (with_y) return keep_where_positive(access.load(y + at), g);
    return g;
  }
  template <class Access>
  Vec part(std::int64_t, std::int64_t, std::int64_t at, int k, Access access) const {
    return keep_where_equal(access.load(index + at), IntVec{} + k, gradient(at, access));
  }
};

// Windows of 2x2 cells side by side, without padding: each row of dx takes half of a row of windows. Row by row,
// although that reads dy twice: writing two rows at once measured slower.
template <class Op>
void split_2x2(const Op& op, const simd::PoolWindow& w, float* dx, std::int64_t begin, std::int64_t end) {
  for (std::int64_t iy = begin; iy < end; ++iy) {
    const std::int64_t oy = iy / 2;
    float* row = dx + iy * w.in_w * w.inner;
    if (oy >= w.out_h) {
      clear(row, w.in_w * w.inner);
      continue;
    }
    const IntVec left = IntVec{} + static_cast<int>(iy % 2 * 2), right = left + 1;
    if (w.inner == 1) {
      for_each_vector(w.out_w, [&](std::int64_t ox, auto access) {
        const IntVec index = access.load(op.index + oy * w.out_w + ox);
        const Vec g = op.gradient(oy * w.out_w + ox, access);
        Vec low, high;
        interleave(keep_where_equal(index, left, g), keep_where_equal(index, right, g), low, high);
        const int lanes = 2 * access.lanes();
        store_first(row + 2 * ox, low, lanes < kWidth ? lanes : kWidth);
        if (lanes > kWidth) store_first(row + 2 * ox + kWidth, high, lanes - kWidth);
      });
    } else {
      for (std::int64_t ox = 0; ox < w.out_w; ++ox) {
        const std::int64_t out = (oy * w.out_w + ox) * w.inner;
        float* cell = row + 2 * ox * w.inner;
        for_each_vector(w.inner, [&](std::int64_t lane, auto access) {
          const IntVec index = access.load(op.index + out + lane);
          const Vec g = op.gradient(out + lane, access);
          access.store(cell + lane, keep_where_equal(index, left, g));
          access.store(cell + w.inner + lane, keep_where_equal(index, right, g));
        });
      }
    }
    clear(row + 2 * w.out_w * w.inner, (w.in_w - 2 * w.out_w) * w.inner);
  }
}

template <class Op>
void max_gradient_with(const Op& op, const simd::MaxPoolGradientSlab& a) {
  const simd::PoolWindow& w = a.window;
  const bool side_by_side = w.kernel_h == 2 && w.kernel_w == 2 && w.stride_h == 2 && w.stride_w == 2 &&
                            w.pad_top == 0 && w.pad_left == 0 && 2 * w.out_w <= w.in_w;
  if (side_by_side) return split_2x2(op, w, a.dx, a.begin, a.end);
  hand_back(op, w, a.dx, a.begin, a.end);
}

}  // namespace

void max_pool(const simd::MaxPoolSlab& a) {
  const simd::PoolWindow& w = a.window;
  if (a.index != nullptr) {
    return reduce_windows_of(MaxOp<true>{a.y, a.index, w.kernel_w}, w, a.x, a.begin, a.end);
  }
  reduce_windows_of(MaxOp<false>{a.y, nullptr, w.kernel_w}, w, a.x, a.begin, a.end);
}

void max_pool_gradient(const simd::MaxPoolGradientSlab& a) {
  if (a.y != nullptr) return max_gradient_with(MaxGradientOp<true>{a.dy, a.y, a.index}, a);
  max_gradient_with(MaxGradientOp<false>{a.dy, nullptr, a.index}, a);
}

}  // namespace belfry::BELFRY_ISA
