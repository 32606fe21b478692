// Loops over one contiguous row: f on each vector, and sums or maxima of it. Part of a vector at the row's end is
// padded with zeros; f's results for those are never stored or counted.
#pragma once

#include "belfry/engine/cpu/vector/lanes.h"

namespace belfry::BELFRY_ISA {
namespace {

// Reads any number of rows in parallel and stores f(vectors...) to `to`, which may be one of them.
template <class F, class... Rows>
[[gnu::always_inline]] inline void map_row(float* to, std::int64_t n, F f, const Rows*... rows) {
  std::int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth) store(to + i, f(load(rows + i)...));
  if (i < n) store_first(to + i, f(load_first(rows + i, n - i)...), n - i);
}

// Combines f(vectors...) of a row with `join` into one number, starting from `start`, in four interleaved chains.
template <class F, class Join, class... Rows>
[[gnu::always_inline]] inline float fold_row(float start, std::int64_t n, F f, Join join, const Rows*... rows) {
  if (n <= kWidth) return fold(take_first(f(load_first(rows, n)...), n, splat(start)), join);
  Vec a = splat(start), b = a, c = a, d = a;
  std::int64_t i = 0;
  for (; i + 4 * kWidth <= n; i += 4 * kWidth) {
    a = join(a, f(load(rows + i)...));
    b = join(b, f(load(rows + i + kWidth)...));
    c = join(c, f(load(rows + i + 2 * kWidth)...));
    d = join(d, f(load(rows + i + 3 * kWidth)...));
  }
  for (; i + kWidth <= n; i += kWidth) a = join(a, f(load(rows + i)...));
  if (i < n) b = join(b, take_first(f(load_first(rows + i, n - i)...), n - i, splat(start)));
  return fold(join(join(a, b), join(c, d)), join);
}

constexpr auto kAddVectors = [](Vec a, Vec b) { return a + b; };
constexpr auto kMaxVectors = [](Vec a, Vec b) { return larger(a, b); };

}  // namespace
}  // namespace belfry::BELFRY_ISA
