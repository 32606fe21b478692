#include "belfry/engine/cpu/simd/optimizer.h"

#include "belfry/engine/cpu/simd/lanes.h"
#include "belfry/engine/cpu/simd/transpose.h"

namespace belfry::BELFRY_ISA {
namespace {

using simd::UpdateBuffers;
using simd::UpdateRule;
using simd::UpdateStep;

// A rule gives the new weight and updates its slots; `slots` says how many of them it has.
struct Sgd {
  static constexpr int slots = 0;
  explicit Sgd(const UpdateStep& step) : minus_rate(splat(-step.learning_rate)) {}
  Vec operator()(Vec w, Vec g, Vec&, Vec&) const { return fma(minus_rate, g, w); }
  Vec minus_rate;
};

template <bool kNesterov>
struct Momentum {
  static constexpr int slots = 1;
  explicit Momentum(const UpdateStep& step) : minus_rate(splat(-step.learning_rate)), mu(splat(step.momentum)) {}
  Vec operator()(Vec w, Vec g, Vec& v, Vec&) const {
    v = fma(mu, v, g);
    return fma(minus_rate, kNesterov ? fma(mu, v, g) : v, w);
  }
  Vec minus_rate, mu;
};

struct Adam {
  static constexpr int slots = 2;
  explicit Adam(const UpdateStep& step)
      : minus_rate(splat(-step.learning_rate)),
        beta1(splat(step.beta1)),
        beta2(splat(step.beta2)),
        rest1(splat(step.rest1)),
        rest2(splat(step.rest2)),
        epsilon(splat(step.epsilon)),
        correction(splat(step.second_moment_scale)) {}
  Vec operator()(Vec w, Vec g, Vec& m, Vec& s) const {
    m = fma(beta1, m, rest1 * g);
    s = fma(beta2, s, rest2 * g * g);
    // With epsilon 0 the smallest normal number keeps 0 / 0 of untouched and padding elements at 0.
    const Vec deviation = larger(splat(0x1p-126f), fma(sqrt(s), correction, epsilon));
    return fma(minus_rate, m / deviation, w);
  }
  Vec minus_rate, beta1, beta2, rest1, rest2, epsilon, correction;
};

// The elements [begin, end). Part of a vector is loaded with zeros and goes through the same arithmetic, so an
// element's bits do not depend on where ranges are cut.
template <class Rule>
void update_range(const UpdateStep& step, const Rule& rule, const UpdateBuffers& buffers, std::int64_t begin,
                  std::int64_t end) {
  const Vec scale = splat(step.gradient_scale), decay = splat(step.weight_decay);
  const Vec keep = splat(1 - step.decoupled_decay);
  const auto next = [&](Vec w, Vec g, Vec& s0, Vec& s1) { return rule(w * keep, fma(scale, g, decay * w), s0, s1); };
  float* const w = buffers.weights;
  std::int64_t i = begin;
  for (; i + kWidth <= end; i += kWidth) {
    Vec s0 = Rule::slots > 0 ? load(buffers.slot0 + i) : Vec{}, s1 = Rule::slots > 1 ? load(buffers.slot1 + i) : Vec{};
    store(w + i, next(load(w + i), load(buffers.gradient + i), s0, s1));
    if (Rule::slots > 0) store(buffers.slot0 + i, s0);
    if (Rule::slots > 1) store(buffers.slot1 + i, s1);
  }
  if (const std::int64_t n = end - i; n > 0) {
    Vec s0 = Rule::slots > 0 ? load_first(buffers.slot0 + i, n) : Vec{};
    Vec s1 = Rule::slots > 1 ? load_first(buffers.slot1 + i, n) : Vec{};
    store_first(w + i, next(load_first(w + i, n), load_first(buffers.gradient + i, n), s0, s1), n);
    if (Rule::slots > 0) store_first(buffers.slot0 + i, s0, n);
    if (Rule::slots > 1) store_first(buffers.slot1 + i, s1, n);
  }
}

// Calls body with the rule of this step.
template <class Body>
void with_rule(const UpdateStep& step, Body body) {
  switch (step.rule) {
    case UpdateRule::sgd: return body(Sgd(step));
    case UpdateRule::momentum: return body(Momentum<false>(step));
    case UpdateRule::nesterov: return body(Momentum<true>(step));
    case UpdateRule::adam: return body(Adam(step));
  }
}

void update(const UpdateStep& step, const UpdateBuffers& buffers, std::int64_t begin, std::int64_t end) {
  with_rule(step, [&](const auto& rule) { update_range(step, rule, buffers, begin, end); });
}

void update_tiles(const UpdateStep& step, const UpdateBuffers& buffers, const simd::SecondCopy& copy,
                  std::int64_t begin, std::int64_t end) {
  const std::int64_t block = copy.block, size = block * block;
  with_rule(step, [&](const auto& rule) {
    for (std::int64_t tile = begin; tile < end; ++tile) {
      update_range(step, rule, buffers, tile * size, (tile + 1) * size);
      const std::int64_t s = tile % copy.spatial, outer = tile / copy.spatial;
      const std::int64_t at =
          outer / copy.outer1 * copy.stride0 + outer % copy.outer1 * copy.stride1 + s * copy.stride_spatial;
      const float* from = buffers.weights + tile * size;
      float* to = copy.data + at * size;
      if (copy.transpose_tile) {
        transpose(from, block, to, block, block, block);
      } else {
        for (std::int64_t i = 0; i < size; i += kWidth) store(to + i, load(from + i));
      }
    }
  });
}

void update_transposed(const UpdateStep& step, const UpdateBuffers& buffers, const simd::TransposedCopy& copy,
                       std::int64_t begin, std::int64_t end) {
  const std::int64_t across = (copy.columns + simd::kTransposeColumns - 1) / simd::kTransposeColumns;
  const auto least = [](std::int64_t a, std::int64_t b) { return a < b ? a : b; };
  with_rule(step, [&](const auto& rule) {
    for (std::int64_t block = begin; block < end; ++block) {
      const std::int64_t row = block / across * simd::kTransposeRows, column = block % across * simd::kTransposeColumns;
      const std::int64_t rows = least(simd::kTransposeRows, copy.rows - row);
      const std::int64_t columns = least(simd::kTransposeColumns, copy.columns - column);
      const bool whole_rows = columns == copy.columns;  // then they are one range
      for (std::int64_t r = row; r < (whole_rows ? row + 1 : row + rows); ++r) {
        const std::int64_t first = r * copy.columns + column;
        update_range(step, rule, buffers, first, first + (whole_rows ? rows * columns : columns));
      }
      transpose(buffers.weights + row * copy.columns + column, copy.columns, copy.data + column * copy.rows + row,
                copy.rows, rows, columns);
    }
  });
}

}  // namespace

const simd::OptimizerKernels kOptimizer = {update, update_tiles, update_transposed};

}  // namespace belfry::BELFRY_ISA
