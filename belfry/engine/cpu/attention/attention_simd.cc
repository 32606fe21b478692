#include "belfry/engine/cpu/attention/attention_simd.h"

#include "belfry/engine/cpu/vector/row_loops.h"
#include "belfry/engine/cpu/vector/vec_memory.h"
#include "belfry/engine/cpu/vector/vmath.h"

namespace belfry::BELFRY_ISA {
namespace {

using simd::AttentionShape;
using simd::kAttentionBlock;
using simd::kGemmNarrowPanel;
using simd::RowsOf;

constexpr float kInfinity = __builtin_inff();

// Hands out scratch memory in whole cache lines.
class Scratch {
 public:
  explicit Scratch(float* memory) : next_(memory) {}
  float* take(std::int64_t floats) {
    float* const out = next_;
    next_ += (floats + 15) / 16 * 16;
    return out;
  }

 private:
  float* next_;
};

// Packs the columns of a matrix [rows][columns] as b's (k = rows), or its rows (transposed: k = columns).
void pack_columns(const RowsOf<const float>& from, std::int64_t rows, std::int64_t columns, float* to) {
  kGemm.pack({from.data, from.row, 1, rows, columns, to, kGemmNarrowPanel});
}
void pack_rows(const RowsOf<const float>& from, std::int64_t rows, std::int64_t columns, float* to) {
  kGemm.pack({from.data, 1, from.row, columns, rows, to, kGemmNarrowPanel});
}

struct Product {
  std::int64_t m, n, k;
  std::int64_t packed_k = 0;  // of b, if that is more
};

// y = a b, a by rows.
void multiply(const Product& p, const RowsOf<const float>& a, const float* b, const RowsOf<float>& y) {
  simd::Gemm g;
  g.m = p.m, g.n = p.n, g.k = p.k, g.packed_k = p.packed_k;
  g.a = a.data, g.a_row = a.row;
  g.b = b, g.panel_vectors = kGemmNarrowPanel;
  g.y = y.data, g.y_row = y.row;
  kGemm.multiply(g);
}
// y = a' b or, if it adds, y + a' b.
void multiply_transposed(const Product& p, const RowsOf<const float>& a, const float* b, const RowsOf<float>& y,
                         bool adds) {
  simd::Gemm g;
  g.m = p.m, g.n = p.n, g.k = p.k;
  g.a = a.data, g.by_columns = true, g.a_step = a.row, g.a_tile = kGemm.tile_rows;
  g.b = b, g.panel_vectors = kGemmNarrowPanel;
  g.y = y.data, g.y_row = y.row;
  if (adds) g.start = y.data, g.start_row = y.row;
  kGemm.multiply(g);
}

RowsOf<const float> read_only(const RowsOf<float>& r) { return {r.data, r.row}; }
template <class T>
RowsOf<T> from_row(const RowsOf<T>& r, std::int64_t row) {
  return {r.data + row * r.row, r.row};
}

// A block of queries and the keys it attends to: up to its last query, for products up to the end of a panel.
struct Block {
  std::int64_t first, queries, keys, panel_keys;
  Block(const AttentionShape& s, std::int64_t start) : first(start) {
    constexpr std::int64_t panel = kGemmNarrowPanel * kWidth;
    queries = s.queries - start < kAttentionBlock ? s.queries - start : kAttentionBlock;
    keys = s.causal && start + queries < s.keys ? start + queries : s.keys;
    panel_keys = (keys + panel - 1) / panel * panel;
    if (panel_keys > s.keys) panel_keys = s.keys;
  }
  // Keys of its query i.
  std::int64_t of(const AttentionShape& s, std::int64_t i) const {
    const std::int64_t last = first + i + 1;
    return s.causal && last < keys ? last : keys;
  }
};

// scale * s + mask, for elements [j, j + left) of a row of scores; lanes beyond are undefined.
[[gnu::always_inline]] inline Vec masked(Vec s, const simd::AttentionMask& mask, std::int64_t i, std::int64_t j,
                                         std::int64_t left) {
  if (mask.data == nullptr) return s;
  const int lanes = static_cast<int>(left < kWidth ? left : kWidth);
  const std::int64_t at = i * mask.row + j * mask.step;
  if (mask.adds) {
    const float* m = static_cast<const float*>(mask.data) + at;
    return s + (mask.step == 0 ? splat(*m) : load_first(m, lanes));
  }
  const auto* m = static_cast<const std::uint8_t*>(mask.data) + at;
  if (mask.step == 0) return *m != 0 ? s : splat(-kInfinity);
  return select(load_u8_partial(m, lanes) != 0, s, splat(-kInfinity));
}

// Row i of the scores becomes exp(score - largest), 0 from `valid` to `end`. Returns their sum and the largest.
struct Softmax {
  float largest, sum;
};
Softmax exponentials(float* row, const simd::AttentionMask& mask, float scale, std::int64_t i, std::int64_t valid,
                     std::int64_t end) {
  Vec most = splat(-kInfinity);
  for (std::int64_t j = 0; j < valid; j += kWidth) {
    const std::int64_t left = valid - j;
    const Vec s = masked(load_first(row + j, left < kWidth ? left : kWidth) * scale, mask, i, j, left);
    store_first(row + j, s, left < kWidth ? left : kWidth);
    most = larger(most, left < kWidth ? take_first(s, left, splat(-kInfinity)) : s);
  }
  const float largest = fold(most, kMaxVectors);
  Vec sum{};
  const bool nothing = largest == -kInfinity;
  for (std::int64_t j = 0; j < end; j += kWidth) {
    const std::int64_t left = valid - j, room = end - j < kWidth ? end - j : kWidth;
    Vec e{};
    if (left > 0 && !nothing) {
      e = exp(load_first(row + j, left < kWidth ? left : kWidth) - largest);
      if (left < kWidth) e = keep_first(e, left);
    }
    sum += e;
    store_first(row + j, e, room);
  }
  return {largest, fold(sum, kAddVectors)};
}

void forward(const simd::AttentionHead& h) {
  const AttentionShape& s = h.shape;
  Scratch scratch(h.scratch);
  const std::int64_t padded = simd::attention_padded(s.keys);
  float* scores = scratch.take(kAttentionBlock * padded);
  float* keys = scratch.take(padded * s.depth);
  float* values = scratch.take(s.keys * simd::attention_padded(s.value_depth));
  pack_rows(h.k, s.keys, s.depth, keys);
  pack_columns(h.v, s.keys, s.value_depth, values);
  for (std::int64_t first = 0; first < s.queries; first += kAttentionBlock) {
    const Block block(s, first);
    const RowsOf<float> p{scores, padded}, y = from_row(h.y, first);
    multiply({block.queries, block.panel_keys, s.depth}, from_row(h.q, first), keys, p);
    float shares[kAttentionBlock];
    for (std::int64_t i = 0; i < block.queries; ++i) {
      const Softmax r = exponentials(scores + i * padded, h.mask, s.scale, first + i, block.of(s, i), block.panel_keys);
      const bool nothing = r.largest == -kInfinity;
      shares[i] = nothing ? 0.f : 1.f / r.sum;
      h.lse[first + i] = nothing ? kInfinity : r.largest + __builtin_logf(r.sum);
    }
    multiply({block.queries, s.value_depth, block.keys, s.keys}, read_only(p), values, y);
    for (std::int64_t i = 0; i < block.queries; ++i) {
      const float share = shares[i];
      map_row(y.data + i * y.row, s.value_depth, [=](Vec v) { return v * share; }, y.data + i * y.row);
    }
  }
}

// A row of scores and one of dp become p = exp(score - lse) and ds = p (dp - dot) scale, 0 from `valid` to `end`.
void probability_gradient(float* row, float* dp, const simd::AttentionMask& mask, float scale, float lse, float dot,
                          std::int64_t i, std::int64_t valid, std::int64_t end) {
  for (std::int64_t j = 0; j < end; j += kWidth) {
    const std::int64_t left = valid - j, room = end - j < kWidth ? end - j : kWidth;
    Vec p{}, ds{};
    if (left > 0) {
      const std::int64_t lanes = left < kWidth ? left : kWidth;
      p = exp(masked(load_first(row + j, lanes) * scale, mask, i, j, left) - lse);
      if (left < kWidth) p = keep_first(p, left);
      ds = p * (load_first(dp + j, lanes) - dot) * scale;
    }
    store_first(row + j, p, room);
    store_first(dp + j, ds, room);
  }
}

// The last block comes first: it attends to all keys, so it can set dk and dv, to which the others add.
void backward(const simd::AttentionHeadGrad& h) {
  const AttentionShape& s = h.shape;
  Scratch scratch(h.scratch);
  const std::int64_t padded = simd::attention_padded(s.keys), depth = simd::attention_padded(s.depth),
                     value_depth = simd::attention_padded(s.value_depth);
  float* scores = scratch.take(kAttentionBlock * padded);
  float* dscores = scratch.take(kAttentionBlock * padded);
  float *k_rows = scratch.take(padded * depth), *v_rows = scratch.take(padded * value_depth);
  float* k_columns = scratch.take(padded * depth);
  float *q_block = scratch.take(kAttentionBlock * depth), *dy_block = scratch.take(kAttentionBlock * value_depth);
  pack_rows(h.k, s.keys, s.depth, k_rows);
  pack_rows(h.v, s.keys, s.value_depth, v_rows);
  pack_columns(h.k, s.keys, s.depth, k_columns);
  const std::int64_t last = (s.queries - 1) / kAttentionBlock * kAttentionBlock;
  for (std::int64_t first = last; first >= 0; first -= kAttentionBlock) {
    const Block block(s, first);
    const RowsOf<float> p{scores, padded}, ds{dscores, padded};
    const RowsOf<const float> q = from_row(h.q, first), dy = from_row(h.dy, first), y = from_row(h.y, first);
    multiply({block.queries, block.panel_keys, s.depth}, q, k_rows, p);
    multiply({block.queries, block.panel_keys, s.value_depth}, dy, v_rows, ds);
    for (std::int64_t i = 0; i < block.queries; ++i) {
      const float dot = fold_row(
          0.f, s.value_depth, [](Vec a, Vec b) { return a * b; }, kAddVectors, dy.data + i * dy.row,
          y.data + i * y.row);
      probability_gradient(scores + i * padded, dscores + i * padded, h.mask, s.scale, h.lse[first + i], dot, first + i,
                           block.of(s, i), block.panel_keys);
    }
    multiply({block.queries, s.depth, block.keys, s.keys}, read_only(ds), k_columns, from_row(h.dq, first));
    pack_columns(q, block.queries, s.depth, q_block);
    pack_columns(dy, block.queries, s.value_depth, dy_block);
    multiply_transposed({block.keys, s.depth, block.queries}, read_only(ds), q_block, h.dk, first != last);
    multiply_transposed({block.keys, s.value_depth, block.queries}, read_only(p), dy_block, h.dv, first != last);
  }
}

// Scores of one query with `count` keys. Nothing is packed: each key is read once.
void dot_keys(const float* q, const RowsOf<const float>& k, std::int64_t count, std::int64_t depth, float* scores) {
  constexpr int kKeys = 4;
  std::int64_t j = 0;
  for (; j + kKeys <= count; j += kKeys) {
    Vec sums[kKeys]{};
    for (std::int64_t d = 0; d < depth; d += kWidth) {
      const std::int64_t lanes = depth - d < kWidth ? depth - d : kWidth;
      const Vec x = load_first(q + d, lanes);
      for (int n = 0; n < kKeys; ++n) sums[n] = fma(x, load_first(k.data + (j + n) * k.row + d, lanes), sums[n]);
    }
    for (int n = 0; n < kKeys; ++n) scores[j + n] = fold(sums[n], kAddVectors);
  }
  for (; j < count; ++j) {
    Vec sum{};
    for (std::int64_t d = 0; d < depth; d += kWidth) {
      const std::int64_t lanes = depth - d < kWidth ? depth - d : kWidth;
      sum = fma(load_first(q + d, lanes), load_first(k.data + j * k.row + d, lanes), sum);
    }
    scores[j] = fold(sum, kAddVectors);
  }
}

// y = share * sum_j p_j v_j.
void weigh_values(const float* p, const RowsOf<const float>& v, std::int64_t count, std::int64_t depth, float share,
                  float* y) {
  for (std::int64_t d = 0; d < depth; d += kWidth) {
    const std::int64_t lanes = depth - d < kWidth ? depth - d : kWidth;
    constexpr int kSums = 4;
    Vec sums[kSums]{};
    std::int64_t j = 0;
    for (; j + kSums <= count; j += kSums)
      for (int n = 0; n < kSums; ++n)
        sums[n] = fma(splat(p[j + n]), load_first(v.data + (j + n) * v.row + d, lanes), sums[n]);
    for (; j < count; ++j) sums[0] = fma(splat(p[j]), load_first(v.data + j * v.row + d, lanes), sums[0]);
    store_first(y + d, ((sums[0] + sums[1]) + (sums[2] + sums[3])) * share, lanes);
  }
}

void cached(const simd::CachedAttentionHead& h) {
  const AttentionShape& s = h.shape;
  for (std::int64_t i = 0; i < s.queries; ++i) {
    const std::int64_t keys = h.position + i + 1;
    dot_keys(h.q.data + i * h.q.row, h.k, keys, s.depth, h.scratch);
    const Softmax r = exponentials(h.scratch, h.mask, s.scale, i, keys, keys);
    const float share = r.largest == -kInfinity ? 0.f : 1.f / r.sum;
    weigh_values(h.scratch, h.v, keys, s.value_depth, share, h.y.data + i * h.y.row);
  }
}

}  // namespace

const simd::AttentionKernels kAttention = {forward, backward, cached};

}  // namespace belfry::BELFRY_ISA
