// The loops of pooling: over windows when reducing them, over cells when handing gradients back. Lanes are channels,
// or, where a cell has a single one, neighbouring windows.
#pragma once

#include "belfry/engine/cpu/simd/pooling.h"
#include "belfry/engine/cpu/simd/vec_memory.h"

namespace belfry::BELFRY_ISA {
namespace {

struct Range {
  std::int64_t begin, end;
};

// The part of a window of `kernel` cells, starting at cell `start`, that lies inside [0, size).
inline Range inside(std::int64_t start, std::int64_t kernel, std::int64_t size) {
  return {start < 0 ? -start : 0, start + kernel > size ? size - start : kernel};
}

// Whole vectors of [0, count), then the rest: body(first, access).
template <class Body>
inline void for_each_vector(std::int64_t count, Body body) {
  std::int64_t i = 0;
  for (; i + kWidth <= count; i += kWidth) body(i, WholeVector{});
  if (i < count) body(i, PartialVector{static_cast<int>(count - i)});
}

template <class Access>
struct ChannelLoad {
  Access access;
  Vec operator()(const float* p) const { return access.load(p); }
};

struct WindowLoad {  // lane i: the same cell of the i-th next window
  std::int64_t stride;
  int n;
  Vec operator()(const float* p) const { return load_strided(p, stride, n); }
};

// Adds the cells (ky, kx) of the given ranges to the reducer; `corner` is where cell (0, 0) is, or would be. With
// kernel sizes known when compiling, the ranges are the whole window.
template <int kernel_h, int kernel_w, class Reducer, class Load>
inline void reduce(Reducer& reducer, const simd::PoolWindow& w, const float* corner, Range rows, Range cols,
                   Load load) {
  if constexpr (kernel_h > 0) {
    for (int ky = 0; ky < kernel_h; ++ky) {
      for (int kx = 0; kx < kernel_w; ++kx) {
        reducer.add(load(corner + (ky * w.in_w + kx) * w.inner), ky * kernel_w + kx);
      }
    }
  } else {
    for (std::int64_t ky = rows.begin; ky < rows.end; ++ky) {
      for (std::int64_t kx = cols.begin; kx < cols.end; ++kx) {
        reducer.add(load(corner + (ky * w.in_w + kx) * w.inner), static_cast<int>(ky * w.kernel_w + kx));
      }
    }
  }
}

// For windows [ox, ox + windows) of one row, whose cells exist in the same ranges. Op: start(rows, cols) gives a
// reducer, finish(reducer, offset, access) writes its result at y + offset.
template <int kernel_h, int kernel_w, class Op>
inline void reduce_windows(const Op& op, const simd::PoolWindow& w, const float* x, std::int64_t oy, std::int64_t ox,
                           std::int64_t windows, Range rows, Range cols) {
  const std::int64_t iy = oy * w.stride_h - w.pad_top, out = oy * w.out_w + ox;
  const float* corner = x + (iy * w.in_w + ox * w.stride_w - w.pad_left) * w.inner;
  if (w.inner == 1) {
    for_each_vector(windows, [&](std::int64_t i, auto access) {
      auto reducer = op.start(rows, cols);
      reduce<kernel_h, kernel_w>(reducer, w, corner + i * w.stride_w, rows, cols,
                                 WindowLoad{w.stride_w, access.lanes()});
      op.finish(reducer, out + i, access);
    });
    return;
  }
  for (std::int64_t i = 0; i < windows; ++i, corner += w.stride_w * w.inner) {
    for_each_vector(w.inner, [&](std::int64_t lane, auto access) {
      auto reducer = op.start(rows, cols);
      reduce<kernel_h, kernel_w>(reducer, w, corner + lane, rows, cols, ChannelLoad<decltype(access)>{access});
      op.finish(reducer, (out + i) * w.inner + lane, access);
    });
  }
}

template <int kernel_h, int kernel_w, class Op>
void reduce_rows(const Op& op, const simd::PoolWindow& w, const float* x, std::int64_t begin, std::int64_t end) {
  // Windows [first, last) of a row lie wholly between the left and the right edge.
  std::int64_t first = (w.pad_left + w.stride_w - 1) / w.stride_w, last = w.in_w + w.pad_left - w.kernel_w;
  first = first < w.out_w ? first : w.out_w;
  last = last < 0 ? 0 : last / w.stride_w + 1;
  last = last < first ? first : last < w.out_w ? last : w.out_w;
  for (std::int64_t oy = begin; oy < end; ++oy) {
    const Range rows = inside(oy * w.stride_h - w.pad_top, w.kernel_h, w.in_h), all = {0, w.kernel_w};
    const auto at_edge = [&](std::int64_t ox) {
      const Range cols = inside(ox * w.stride_w - w.pad_left, w.kernel_w, w.in_w);
      reduce_windows<0, 0>(op, w, x, oy, ox, 1, rows, cols);
    };
    for (std::int64_t ox = 0; ox < first; ++ox) at_edge(ox);
    if (rows.end - rows.begin == w.kernel_h) {
      reduce_windows<kernel_h, kernel_w>(op, w, x, oy, first, last - first, rows, all);
    } else {
      reduce_windows<0, 0>(op, w, x, oy, first, last - first, rows, all);
    }
    for (std::int64_t ox = last; ox < w.out_w; ++ox) at_edge(ox);
  }
}

template <class Op>
void reduce_windows_of(const Op& op, const simd::PoolWindow& w, const float* x, std::int64_t begin, std::int64_t end) {
  if (w.kernel_h == 2 && w.kernel_w == 2) return reduce_rows<2, 2>(op, w, x, begin, end);
  if (w.kernel_h == 3 && w.kernel_w == 3) return reduce_rows<3, 3>(op, w, x, begin, end);
  reduce_rows<0, 0>(op, w, x, begin, end);
}

// The windows that contain cell i, along one axis.
class WindowsOver {
 public:
  WindowsOver(std::int64_t kernel, std::int64_t stride, std::int64_t pad, std::int64_t out)
      : kernel_(kernel), stride_(stride), pad_(pad), out_(out) {}

  Range at(std::int64_t i) const {
    const std::int64_t past = i + pad_ - kernel_;  // the last cell before which windows end too early
    const std::int64_t first = past < 0 ? 0 : past / stride_ + 1, end = (i + pad_) / stride_ + 1;
    return {first, end < out_ ? end : out_};
  }

 private:
  std::int64_t kernel_, stride_, pad_, out_;
};

// dx[cell] = sum over the windows that contain it of op.part(oy, ox, offset, number of the cell, access), where offset
// is the lanes' place in dy. Writes each element once.
template <class Op>
void gather_rows(const Op& op, const simd::PoolWindow& w, float* dx, std::int64_t begin, std::int64_t end) {
  const WindowsOver rows(w.kernel_h, w.stride_h, w.pad_top, w.out_h);
  const WindowsOver cols(w.kernel_w, w.stride_w, w.pad_left, w.out_w);
  for (std::int64_t iy = begin; iy < end; ++iy) {
    const Range over_y = rows.at(iy);
    for (std::int64_t ix = 0; ix < w.in_w; ++ix) {
      const Range over_x = cols.at(ix);
      float* cell = dx + (iy * w.in_w + ix) * w.inner;
      for_each_vector(w.inner, [&](std::int64_t lane, auto access) {
        Vec sum{};
        for (std::int64_t oy = over_y.begin; oy < over_y.end; ++oy) {
          const std::int64_t row = (iy + w.pad_top - oy * w.stride_h) * w.kernel_w + ix + w.pad_left;
          for (std::int64_t ox = over_x.begin; ox < over_x.end; ++ox) {
            const std::int64_t at = (oy * w.out_w + ox) * w.inner + lane;
            sum += op.part(oy, ox, at, static_cast<int>(row - ox * w.stride_w), access);
          }
        }
        access.store(cell + lane, sum);
      });
    }
  }
}

}  // namespace
}  // namespace belfry::BELFRY_ISA
