// Plain attention: one score at a time, for f64 and for empty shapes.
#include <algorithm>
#include <cmath>
#include <limits>

#include "belfry/engine/cpu/attention/attention_views.h"
#include "belfry/engine/cpu/kernel/kernel_dispatch.h"

namespace belfry {
namespace {

// One head of one example.
template <class T>
class Head {
 public:
  Head(const AttentionGeometry& g, const Buffers& b, std::int64_t item, int first)
      : g_(g),
        batch_(item / g.heads),
        head_(item % g.heads),
        q_(b.in<T>(first) + at(g.q)),
        k_(b.in<T>(first + 1) + at(g.k)),
        v_(b.in<T>(first + 2) + at(g.v)),
        mask_(g.mask_input < 0 ? nullptr : b.inputs[static_cast<std::size_t>(g.mask_input)]) {}

  std::int64_t at(const HeadStrides& s) const { return s.at(batch_, head_); }
  const T* q(std::int64_t i) const { return q_ + i * g_.q.row; }
  const T* k(std::int64_t j) const { return k_ + j * g_.k.row; }
  const T* v(std::int64_t j) const { return v_ + j * g_.v.row; }

  // -infinity where the query may not attend.
  T score(std::int64_t i, std::int64_t j) const {
    if (g_.causal && j > i + g_.position) return -std::numeric_limits<T>::infinity();
    T sum = 0;
    for (std::int64_t d = 0; d < g_.depth; ++d) sum += q(i)[d] * k(j)[d];
    sum *= static_cast<T>(g_.scale);
    if (mask_ == nullptr) return sum;
    const std::int64_t m = batch_ * g_.mask[0] + head_ * g_.mask[1] + i * g_.mask[2] + j * g_.mask[3];
    if (g_.mask_type != boolean) return sum + static_cast<const T*>(mask_)[m];
    return static_cast<const bool*>(mask_)[m] ? sum : -std::numeric_limits<T>::infinity();
  }

 private:
  const AttentionGeometry& g_;
  std::int64_t batch_, head_;
  const T *q_, *k_, *v_;
  const void* mask_;
};

template <class T>
void forward(const AttentionGeometry& g, const Head<T>& head, T* y, T* lse) {
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  for (std::int64_t i = 0; i < g.queries; ++i) {
    T largest = -kInfinity, sum = 0;
    T* row = y + i * g.y.row;
    std::fill_n(row, g.value_depth, T(0));
    for (std::int64_t j = 0; j < g.keys; ++j) largest = std::max(largest, head.score(i, j));
    for (std::int64_t j = 0; j < g.keys && largest > -kInfinity; ++j) {
      const T e = std::exp(head.score(i, j) - largest);
      sum += e;
      for (std::int64_t d = 0; d < g.value_depth; ++d) row[d] += e * head.v(j)[d];
    }
    if (lse != nullptr) lse[i] = sum > 0 ? largest + std::log(sum) : kInfinity;
    for (std::int64_t d = 0; d < g.value_depth && sum > 0; ++d) row[d] /= sum;
  }
}

template <class T>
T dot(const T* a, const T* b, std::int64_t n) {
  T sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

template <class T>
struct Gradients {
  const T *dy, *y, *lse;
  T *dq, *dk, *dv;
};

template <class T>
void backward(const AttentionGeometry& g, const Head<T>& head, const Gradients<T>& d) {
  for (std::int64_t i = 0; i < g.queries; ++i) std::fill_n(d.dq + i * g.q.row, g.depth, T(0));
  for (std::int64_t j = 0; j < g.keys; ++j) std::fill_n(d.dk + j * g.k.row, g.depth, T(0));
  for (std::int64_t j = 0; j < g.keys; ++j) std::fill_n(d.dv + j * g.v.row, g.value_depth, T(0));
  for (std::int64_t i = 0; i < g.queries; ++i) {
    const T *dy = d.dy + i * g.y.row, total = dot(dy, d.y + i * g.y.row, g.value_depth);
    for (std::int64_t j = 0; j < g.keys; ++j) {
      const T p = std::exp(head.score(i, j) - d.lse[i]);
      const T ds = p * (dot(dy, head.v(j), g.value_depth) - total) * static_cast<T>(g.scale);
      for (std::int64_t x = 0; x < g.value_depth; ++x) d.dv[j * g.v.row + x] += p * dy[x];
      for (std::int64_t x = 0; x < g.depth; ++x) {
        d.dq[i * g.q.row + x] += ds * head.k(j)[x];
        d.dk[j * g.k.row + x] += ds * head.q(i)[x];
      }
    }
  }
}

}  // namespace

KernelPtr make_slow_attention(const KernelContext& c, const AttentionGeometry& g) {
  return make_for<Floats>(c, c.output().dtype, [&]<class T>() {
    return simple_kernel([g](const Buffers& b, const Step&) {
      parallel_for(g.items(), 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t item = begin; item < end; ++item) {
          const Head<T> head(g, b, item, 0);
          forward(g, head, b.out<T>(0) + head.at(g.y), b.out<T>(1) + item * g.queries);
        }
      });
    });
  });
}

KernelPtr make_slow_cached_attention(const KernelContext& c, const AttentionGeometry& g,
                                     std::function<std::int64_t(const Buffers&)> position) {
  return make_for<Floats>(c, c.output().dtype, [&]<class T>() {
    return simple_kernel([g, position = std::move(position)](const Buffers& b, const Step&) {
      AttentionGeometry seen = g;
      seen.causal = true;
      seen.position = position(b);
      for (std::int64_t item = 0; item < g.items(); ++item) {
        const Head<T> head(seen, b, item, 0);
        forward<T>(seen, head, b.out<T>(0) + head.at(g.y), nullptr);
      }
    });
  });
}

KernelPtr make_slow_attention_grad(const KernelContext& c, const AttentionGeometry& g) {
  return make_for<Floats>(c, c.output().dtype, [&]<class T>() {
    return simple_kernel([g](const Buffers& b, const Step&) {
      parallel_for(g.items(), 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t item = begin; item < end; ++item) {
          const Head<T> head(g, b, item, 1);
          backward(g, head,
                   Gradients<T>{b.in<T>(0) + head.at(g.y), b.in<T>(4) + head.at(g.y), b.in<T>(5) + item * g.queries,
                                b.out<T>(0) + head.at(g.q), b.out<T>(1) + head.at(g.k), b.out<T>(2) + head.at(g.v)});
        }
      });
    });
  });
}

}  // namespace belfry
