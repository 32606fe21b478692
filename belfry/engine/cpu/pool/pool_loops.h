// The loops of pooling: over windows when reducing them, over cells when handing gradients back. Lanes are channels,
// or, where a cell has a single one, neighbouring windows.
#pragma once

#include "belfry/engine/cpu/pool/pool_simd.h"
#include "belfry/engine/cpu/vector/range.h"
#include "belfry/engine/cpu/vector/vec_memory.h"

namespace belfry::BELFRY_ISA {
namespace {

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

// The windows of a row that lie wholly between the left and the right edge.
inline Range whole_windows(const simd::PoolWindow& w) {
  const std::int64_t from = (w.pad_left + w.stride_w - 1) / w.stride_w, room = w.in_w + w.pad_left - w.kernel_w;
  const std::int64_t to = room < 0 ? 0 : room / w.stride_w + 1;
  const std::int64_t first = from < w.out_w ? from : w.out_w, last = to < w.out_w ? to : w.out_w;
  return {first, last < first ? first : last};
}

template <int kernel_h, int kernel_w, class Op>
void reduce_rows(const Op& op, const simd::PoolWindow& w, const float* x, std::int64_t begin, std::int64_t end) {
  const auto [first, last] = whole_windows(w);
  for (std::int64_t oy = begin; oy < end; ++oy) {
    const Range rows = inside(oy * w.stride_h - w.pad_top, 1, w.kernel_h, w.in_h), all = {0, w.kernel_w};
    const auto at_edge = [&](std::int64_t ox) {
      const Range cols = inside(ox * w.stride_w - w.pad_left, 1, w.kernel_w, w.in_w);
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

// The windows over a cell, along one axis; cells must be asked for in ascending order.
class WindowsOver {
 public:
  WindowsOver(std::int64_t kernel, std::int64_t stride, std::int64_t pad, std::int64_t out)
      : kernel_(kernel), stride_(stride), pad_(pad), out_(out) {}

  Range at(std::int64_t cell) {
    while (range_.end < out_ && range_.end * stride_ <= cell + pad_) ++range_.end;
    while (range_.begin < range_.end && range_.begin * stride_ + kernel_ <= cell + pad_) ++range_.begin;
    return range_;
  }

 private:
  std::int64_t kernel_, stride_, pad_, out_;
  Range range_ = {0, 0};
};

// The windows over one cell: `rows` by `cols` of them, from (oy, ox) on.
struct Over {
  std::int64_t oy, ox, rows, cols;
  std::int64_t at;  // place of the first one in dy
  int k;            // number of the cell in the first one
};

// The sum of op.part(oy, ox, place in dy, number of the cell, access) over these windows. The usual counts are known
// when compiling; 0 means any other.
template <int rows, int cols, class Op, class Access>
inline Vec sum_parts(const Op& op, const simd::PoolWindow& w, const Over& over, std::int64_t lane, Access access) {
  const std::int64_t row_stride = w.out_w * w.inner;
  const int row_numbers = static_cast<int>(w.stride_h * w.kernel_w), col_numbers = static_cast<int>(w.stride_w);
  Vec sum{};
  for (int r = 0; r < (rows > 0 ? rows : over.rows); ++r) {
    for (int c = 0; c < (cols > 0 ? cols : over.cols); ++c) {
      const std::int64_t at = over.at + r * row_stride + c * w.inner + lane;
      sum += op.part(over.oy + r, over.ox + c, at, over.k - r * row_numbers - c * col_numbers, access);
    }
  }
  return sum;
}

// dx of one row of cells; writes each element once.
template <int rows, class Op>
void gather_row_under(const Op& op, const simd::PoolWindow& w, float* dx, std::int64_t iy, Range over_y) {
  WindowsOver windows(w.kernel_w, w.stride_w, w.pad_left, w.out_w);
  const std::int64_t first_number = (iy + w.pad_top - over_y.begin * w.stride_h) * w.kernel_w + w.pad_left;
  float* cell = dx + iy * w.in_w * w.inner;
  for (std::int64_t ix = 0; ix < w.in_w; ++ix, cell += w.inner) {
    const Range over_x = windows.at(ix);
    const Over over = {.oy = over_y.begin,
                       .ox = over_x.begin,
                       .rows = over_y.end - over_y.begin,
                       .cols = over_x.end - over_x.begin,
                       .at = (over_y.begin * w.out_w + over_x.begin) * w.inner,
                       .k = static_cast<int>(first_number + ix - over_x.begin * w.stride_w)};
    for_each_vector(w.inner, [&](std::int64_t lane, auto access) {
      access.store(cell + lane, over.cols == 1   ? sum_parts<rows, 1>(op, w, over, lane, access)
                                : over.cols == 2 ? sum_parts<rows, 2>(op, w, over, lane, access)
                                                 : sum_parts<rows, 0>(op, w, over, lane, access));
    });
  }
}

template <class Op>
void gather_row(const Op& op, const simd::PoolWindow& w, float* dx, std::int64_t iy, Range over_y) {
  if (over_y.end - over_y.begin == 1) return gather_row_under<1>(op, w, dx, iy, over_y);
  if (over_y.end - over_y.begin == 2) return gather_row_under<2>(op, w, dx, iy, over_y);
  gather_row_under<0>(op, w, dx, iy, over_y);
}

inline void clear(float* p, std::int64_t count) {
  for_each_vector(count, [&](std::int64_t i, auto access) { access.store(p + i, Vec{}); });
}

// The same for cells of one lane: lanes are windows, whose parts are added to a row that stays in L1.
template <class Op>
void spread_row(const Op& op, const simd::PoolWindow& w, float* dx, std::int64_t iy, Range over_y) {
  float* row = dx + iy * w.in_w;
  clear(row, w.in_w);
  const Range whole = whole_windows(w);
  for (std::int64_t oy = over_y.begin; oy < over_y.end; ++oy) {
    for (std::int64_t kx = 0; kx < w.kernel_w; ++kx) {
      const int k = static_cast<int>((iy + w.pad_top - oy * w.stride_h) * w.kernel_w + kx);
      const auto add = [&](std::int64_t ox, auto access) {
        const Vec part = op.part(oy, ox, oy * w.out_w + ox, k, access);
        add_strided(row + ox * w.stride_w - w.pad_left + kx, w.stride_w, part, access.lanes());
      };
      const auto at_edge = [&](std::int64_t ox) {
        const std::int64_t ix = ox * w.stride_w - w.pad_left + kx;
        if (ix >= 0 && ix < w.in_w) add(ox, PartialVector{1});
      };
      for (std::int64_t ox = 0; ox < whole.begin; ++ox) at_edge(ox);
      for_each_vector(whole.end - whole.begin, [&](std::int64_t i, auto access) { add(whole.begin + i, access); });
      for (std::int64_t ox = whole.end; ox < w.out_w; ++ox) at_edge(ox);
    }
  }
}

template <class Op>
void hand_back(const Op& op, const simd::PoolWindow& w, float* dx, std::int64_t begin, std::int64_t end) {
  WindowsOver rows(w.kernel_h, w.stride_h, w.pad_top, w.out_h);
  for (std::int64_t iy = begin; iy < end; ++iy) {
    if (w.inner == 1) {
      spread_row(op, w, dx, iy, rows.at(iy));
    } else {
      gather_row(op, w, dx, iy, rows.at(iy));
    }
  }
}

}  // namespace
}  // namespace belfry::BELFRY_ISA
