// A loop over an index space in which every operand has its own strides: broadcasting, transposing, slicing and
// padding all use it. Internal to engine.
//
//   const StridedLoop<2> loop(out, {broadcast_strides(a, out), broadcast_strides(b, out)});
//   loop.run([&](std::int64_t at, const auto& offsets, std::int64_t count) {
//     for (i < count) y[at + i] = a[offsets[0] + i * loop.step(0)] + b[offsets[1] + i * loop.step(1)];
//   });
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "belfry/array/shape.h"
#include "belfry/base/parallel.h"

namespace belfry {

inline constexpr std::int64_t kPointwiseGrain = 16384;  // elements below which a second thread does not pay

// body(i) for the n physical elements of tensors that share a layout.
template <class Body>
void for_each_element(std::int64_t n, Body body) {
  parallel_for(n, kPointwiseGrain, [body](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) body(i);
  });
}

using Strides = std::array<std::int64_t, kMaxRank>;

// Row-major strides, in elements.
inline Strides dense_strides(const Shape& shape) {
  Strides out{};
  std::int64_t stride = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    out[static_cast<std::size_t>(i)] = stride;
    stride *= shape[i];
  }
  return out;
}

// Strides along the axes of `to` of a dense tensor that broadcasts to it: 0 where it is repeated.
inline Strides broadcast_strides(const Shape& from, const Shape& to) {
  const Strides dense = dense_strides(from);
  const int missing = to.rank() - from.rank();
  Strides out{};
  for (int i = 0; i < from.rank(); ++i)
    if (from[i] != 1) out[static_cast<std::size_t>(i + missing)] = dense[static_cast<std::size_t>(i)];
  return out;
}

template <std::size_t N>
class StridedLoop {
 public:
  using Offsets = std::array<std::int64_t, N>;

  // Index space `shape`, walked in row-major order. Neighbouring axes with matching strides in every operand become
  // one, so that the innermost loop is as long as it can be.
  StridedLoop(const Shape& shape, const std::array<Strides, N>& strides) : elements_(shape.elements()) {
    for (int i = 0; i < shape.rank(); ++i) {
      if (shape[i] == 1) continue;
      const auto axis = static_cast<std::size_t>(i);
      bool joins = rank_ > 0;
      for (std::size_t k = 0; k < N && joins; ++k) joins = axes_[last()].strides[k] == strides[k][axis] * shape[i];
      if (!joins) ++rank_;
      Axis& a = axes_[last()];
      a.size = joins ? a.size * shape[i] : shape[i];
      for (std::size_t k = 0; k < N; ++k) a.strides[k] = strides[k][axis];
    }
    if (rank_ == 0) axes_[rank_++].size = 1;
  }

  std::int64_t elements() const { return elements_; }
  std::int64_t row() const { return axes_[last()].size; }  // length of the innermost loop
  std::int64_t step(std::size_t operand) const { return axes_[last()].strides[operand]; }  // its stride

  // Where each operand is at one index.
  Offsets offsets(std::int64_t at) const {
    Offsets out{};
    for (std::size_t i = rank_; i-- > 0;) {
      const std::int64_t index = at % axes_[i].size;
      at /= axes_[i].size;
      for (std::size_t k = 0; k < N; ++k) out[k] += index * axes_[i].strides[k];
    }
    return out;
  }

  // body(at, offsets, count) for pieces of rows that together cover [begin, end): indices at .. at + count, whose
  // operands begin at offsets[k] and advance by step(k).
  template <class Body>
  void run(std::int64_t begin, std::int64_t end, Body&& body) const {
    while (begin < end) {
      const std::int64_t left = row() - begin % row();
      const std::int64_t count = left < end - begin ? left : end - begin;
      body(begin, offsets(begin), count);
      begin += count;
    }
  }
  // All of it, by the whole team.
  template <class Body>
  void run(Body&& body) const {
    parallel_for(elements_, kPointwiseGrain, [&](std::int64_t begin, std::int64_t end) { run(begin, end, body); });
  }

 private:
  struct Axis {
    std::int64_t size = 1;
    Offsets strides{};
  };
  std::size_t last() const { return rank_ - 1; }

  std::array<Axis, kMaxRank> axes_{};
  std::size_t rank_ = 0;
  std::int64_t elements_ = 0;
};

// y = x at the places that the loop visits, one after the other.
template <class T>
void take(const StridedLoop<1>& loop, const T* x, T* y) {
  loop.run([&](std::int64_t at, const auto& offsets, std::int64_t count) {
    const T* from = x + offsets[0];
    if (loop.step(0) == 1)
      std::copy_n(from, count, y + at);
    else
      for (std::int64_t i = 0; i < count; ++i) y[at + i] = from[i * loop.step(0)];
  });
}

// The reverse.
template <class T>
void put(const StridedLoop<1>& loop, const T* x, T* y) {
  loop.run([&](std::int64_t at, const auto& offsets, std::int64_t count) {
    T* to = y + offsets[0];
    for (std::int64_t i = 0; i < count; ++i) to[i * loop.step(0)] = x[at + i];
  });
}

}  // namespace belfry
