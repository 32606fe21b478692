#include "belfry/engine/cpu/conv/depthwise_simd.h"

#include "belfry/engine/cpu/vector/range.h"
#include "belfry/engine/cpu/vector/vec_memory.h"

namespace belfry::BELFRY_ISA {

namespace {

// The outputs of a row for which taps [first, last] all lie on the image.
inline Range whole(const simd::DepthwiseWindow& w, std::int64_t first, std::int64_t last) {
  const Range a = inside(first * w.dilation_w - w.pad_left, w.stride_w, w.out_w, w.in_w);
  const Range b = inside(last * w.dilation_w - w.pad_left, w.stride_w, w.out_w, w.in_w);
  const std::int64_t begin = a.begin > b.begin ? a.begin : b.begin, end = a.end < b.end ? a.end : b.end;
  return {begin < end ? begin : end, end};
}

struct SameLanes {
  explicit SameLanes(const std::int32_t*) {}
  Vec operator()(const float* p) const { return load(p); }
};
struct RepeatedLanes {
  IntVec lanes;
  explicit RepeatedLanes(const std::int32_t* table) {
    for (int i = 0; i < kWidth; ++i) lanes[i] = table[i];
  }
  Vec operator()(const float* p) const { return permute(load(p), lanes); }
};

// `count` neighbouring outputs from ox on, whose taps (ky, kx) of these ranges lie on the image.
template <int count, class Load>
inline void outputs(const simd::DepthwiseRow& a, std::int64_t ox, Range rows, Range cols, Load load_x) {
  const simd::DepthwiseWindow& w = a.window;
  Vec sum[count];
  for (Vec& s : sum) s = a.bias != nullptr ? load(a.bias) : Vec{};
  const std::int64_t next = w.stride_w * kWidth;
  for (std::int64_t ky = rows.begin; ky < rows.end; ++ky) {
    const std::int64_t iy = a.row * w.stride_h - w.pad_top + ky * w.dilation_h, ix = ox * w.stride_w - w.pad_left;
    const float* x = a.x + (iy * w.in_w + ix + cols.begin * w.dilation_w) * kWidth;
    const float* filter = a.filter + (ky * w.kernel_w + cols.begin) * a.tap;
    for (std::int64_t kx = cols.begin; kx < cols.end; ++kx, x += w.dilation_w * kWidth, filter += a.tap) {
      const Vec weight = load(filter);
      for (int i = 0; i < count; ++i) sum[i] += weight * load_x(x + i * next);
    }
  }
  for (int i = 0; i < count; ++i)
    store(a.y + (ox + i) * a.step, a.relu ? max(Vec{}, sum[i]) : sum[i]);  // in this order NaN stays NaN
}

template <class Load>
void row_of(const simd::DepthwiseRow& a) {
  const simd::DepthwiseWindow& w = a.window;
  const Load load_x(a.lanes);
  const Range rows = inside(a.row * w.stride_h - w.pad_top, w.dilation_h, w.kernel_h, w.in_h), cols = {0, w.kernel_w};
  const Range middle = whole(w, 0, w.kernel_w - 1);
  const auto at_edge = [&](std::int64_t ox) {
    outputs<1>(a, ox, rows, inside(ox * w.stride_w - w.pad_left, w.dilation_w, w.kernel_w, w.in_w), load_x);
  };
  std::int64_t ox = 0;
  for (; ox < middle.begin; ++ox) at_edge(ox);
  for (; ox + 8 <= middle.end; ox += 8) outputs<8>(a, ox, rows, cols, load_x);
  for (; ox + 4 <= middle.end; ox += 4) outputs<4>(a, ox, rows, cols, load_x);
  for (; ox < middle.end; ++ox) outputs<1>(a, ox, rows, cols, load_x);
  for (; ox < w.out_w; ++ox) at_edge(ox);
}

void forward_row(const simd::DepthwiseRow& a) {
  if (a.lanes != nullptr) return row_of<RepeatedLanes>(a);
  row_of<SameLanes>(a);
}

void gradient_row(const simd::DepthwiseGradientRow& a) {
  const simd::DepthwiseWindow& w = a.window;
  for (std::int64_t ix = 0; ix < w.in_w; ++ix) store(a.dx + ix * a.step, Vec{});
  for (std::int64_t ky = 0; ky < w.kernel_h; ++ky) {
    const std::int64_t from_top = a.row + w.pad_top - ky * w.dilation_h, oy = from_top / w.stride_h;
    if (from_top < 0 || oy >= w.out_h || oy * w.stride_h != from_top) continue;
    for (std::int64_t kx = 0; kx < w.kernel_w; ++kx) {
      const Vec weight = load(a.filter + (ky * w.kernel_w + kx) * kWidth);
      const std::int64_t start = kx * w.dilation_w - w.pad_left, next = w.stride_w * a.step;
      const Range range = inside(start, w.stride_w, w.out_w, w.in_w);
      const float* dy = a.dy + (oy * w.out_w + range.begin) * kWidth;
      float* dx = a.dx + (range.begin * w.stride_w + start) * a.step;
      for (std::int64_t ox = range.begin; ox < range.end; ++ox, dy += kWidth, dx += next)
        store(dx, load(dx) + weight * load(dy));
    }
  }
}

void fold(const simd::DepthwiseFold& a) {
  const int multiplier = static_cast<int>(a.multiplier);
  for (std::int64_t cell = 0; cell < a.cells; ++cell) {
    const float* from = a.from + cell * a.multiplier * kWidth;
    Vec sum = load_strided(from, multiplier, kWidth);
    for (int i = 1; i < multiplier; ++i) sum += load_strided(from + i, multiplier, kWidth);
    store(a.to + cell * kWidth, sum);
  }
}

// Taps [kx, kx + count) of filter row ky. Two outputs at a time, so that the sums do not wait for each other.
template <int count, class Load>
void filter_taps(const simd::DepthwiseFilterGradient& a, std::int64_t ky, std::int64_t kx, Load load_x) {
  const simd::DepthwiseWindow& w = a.window;
  const Range rows = inside(ky * w.dilation_h - w.pad_top, w.stride_h, w.out_h, w.in_h);
  const Range middle = whole(w, kx, kx + count - 1);
  const std::int64_t next = w.stride_w * kWidth;
  Vec even[count] = {}, odd[count] = {};
  for (std::int64_t oy = rows.begin; oy < rows.end; ++oy) {
    const std::int64_t iy = oy * w.stride_h - w.pad_top + ky * w.dilation_h;
    const float *x_row = a.x + (iy * w.in_w - w.pad_left) * kWidth, *dy_row = a.dy + oy * w.out_w * kWidth;
    const auto add = [&](int k, std::int64_t ox) {
      even[k] += load(dy_row + ox * kWidth) * load_x(x_row + (ox * w.stride_w + (kx + k) * w.dilation_w) * kWidth);
    };
    for (int k = 0; k < count; ++k) {
      const Range all = whole(w, kx + k, kx + k);
      for (std::int64_t ox = all.begin; ox < all.end && ox < middle.begin; ++ox) add(k, ox);
      for (std::int64_t ox = all.begin > middle.end ? all.begin : middle.end; ox < all.end; ++ox) add(k, ox);
    }
    std::int64_t ox = middle.begin;
    const float* x = x_row + (ox * w.stride_w + kx * w.dilation_w) * kWidth;
    for (; ox + 2 <= middle.end; ox += 2, x += 2 * next) {
      const Vec first = load(dy_row + ox * kWidth), second = load(dy_row + (ox + 1) * kWidth);
      for (int k = 0; k < count; ++k) {
        even[k] += first * load_x(x + k * w.dilation_w * kWidth);
        odd[k] += second * load_x(x + k * w.dilation_w * kWidth + next);
      }
    }
    if (ox < middle.end)
      for (int k = 0; k < count; ++k) add(k, ox);
  }
  for (int k = 0; k < count; ++k) {
    float* to = a.dfilter + (ky * w.kernel_w + kx + k) * kWidth;
    store(to, load(to) + (even[k] + odd[k]));
  }
}

template <class Load>
void filter_of(const simd::DepthwiseFilterGradient& a) {
  const Load load_x(a.lanes);
  for (std::int64_t ky = 0; ky < a.window.kernel_h; ++ky) {
    std::int64_t kx = 0;
    for (; kx + 5 <= a.window.kernel_w; kx += 5) filter_taps<5>(a, ky, kx, load_x);
    for (; kx + 3 <= a.window.kernel_w; kx += 3) filter_taps<3>(a, ky, kx, load_x);
    for (; kx < a.window.kernel_w; ++kx) filter_taps<1>(a, ky, kx, load_x);
  }
}

void filter_gradient(const simd::DepthwiseFilterGradient& a) {
  if (a.dbias != nullptr) {
    Vec sum{};
    for (std::int64_t i = 0; i < a.window.out_h * a.window.out_w; ++i) sum += load(a.dy + i * kWidth);
    store(a.dbias, load(a.dbias) + sum);
  }
  if (a.lanes != nullptr) return filter_of<RepeatedLanes>(a);
  filter_of<SameLanes>(a);
}

}  // namespace

const simd::DepthwiseKernels kDepthwise = {forward_row, gradient_row, fold, filter_gradient};

}  // namespace belfry::BELFRY_ISA
