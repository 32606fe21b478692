// Forward and backward over the labels of a sequence with blanks between and around them: position 2 i + 1 is label i,
// even positions are blanks. Everything is in logarithms and f64; one thread per sequence.
#include <algorithm>
#include <cmath>
#include <limits>

#include "belfry/base/parallel.h"
#include "belfry/engine/cpu/kernel/kernel_dispatch.h"
#include "belfry/engine/cpu/kernel/runtime_error.h"

namespace belfry {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

double log_add(double a, double b) {
  if (a < b) std::swap(a, b);
  return b == kNever ? a : a + std::log1p(std::exp(b - a));
}

struct Problem {
  std::int64_t time, batch, classes, labels, blank;

  Problem(const KernelContext& c)
      : time(c.input(0).shape[0]),
        batch(c.input(0).shape[1]),
        classes(c.input(0).shape[2]),
        labels(c.input(1).shape[1]) {
    const std::int64_t given = c.attributes->integer("blank");
    blank = given < 0 ? given + classes : given;
  }
  std::int64_t positions() const { return 2 * labels + 1; }
  // Of one sequence: all forward values, and two rows of backward ones.
  std::int64_t scratch() const { return (time + 2) * positions(); }
};

// One sequence: log-probabilities x[t * stride + class] for t < steps, `count` labels.
template <class T, class Label>
struct Sequence {
  const Problem& p;
  const T* x;
  const Label* labels;
  std::int64_t steps, count, stride;
  double* alpha;  // [steps][positions]: over all paths to a position after step t
  double* beta;   // [2][positions]: over all paths from a position to the end, step t not counted

  std::int64_t positions() const { return 2 * count + 1; }
  std::int64_t symbol(std::int64_t s) const { return s % 2 == 0 ? p.blank : static_cast<std::int64_t>(labels[s / 2]); }
  double log_probability(std::int64_t t, std::int64_t s) const {
    return static_cast<double>(x[t * stride + symbol(s)]);
  }
  // From s - 2 to s without the blank between: from one label to a different one.
  bool skips_to(std::int64_t s) const { return s >= 2 && s % 2 == 1 && symbol(s) != symbol(s - 2); }

  double forward() const {
    const std::int64_t n = positions();
    for (std::int64_t t = 0; t < steps; ++t)
      for (std::int64_t s = 0; s < n; ++s) {
        double from = kNever;
        if (t == 0) {
          if (s < 2) from = 0;
        } else {
          const double* before = alpha + (t - 1) * n;
          from = before[s];
          if (s >= 1) from = log_add(from, before[s - 1]);
          if (skips_to(s)) from = log_add(from, before[s - 2]);
        }
        alpha[t * n + s] = from == kNever ? kNever : from + log_probability(t, s);
      }
    if (steps == 0) return count == 0 ? 0 : kNever;
    const double* last = alpha + (steps - 1) * n;
    return n == 1 ? last[0] : log_add(last[n - 1], last[n - 2]);
  }

  // slope[t, class] -= the probability of being at the class in step t, given the labels
  void backward(double total, T* slope) const {
    const std::int64_t n = positions();
    double *now = beta, *next = beta + n;
    for (std::int64_t t = steps - 1; t >= 0; --t) {
      for (std::int64_t s = 0; s < n; ++s) {
        if (t == steps - 1) {
          now[s] = s >= n - 2 ? 0 : kNever;
        } else {
          const auto by = [&](std::int64_t to) {
            return next[to] == kNever ? kNever : next[to] + log_probability(t + 1, to);
          };
          now[s] = by(s);
          if (s + 1 < n) now[s] = log_add(now[s], by(s + 1));
          if (s + 2 < n && skips_to(s + 2)) now[s] = log_add(now[s], by(s + 2));
        }
        const double share = alpha[t * n + s] + now[s] - total;
        if (share > kNever) slope[t * stride + symbol(s)] -= static_cast<T>(std::exp(share));
      }
      std::swap(now, next);
    }
  }
};

template <class T, class Label>
void check(const Problem& p, const Buffers& b, const Node* origin) {
  const Label *labels = b.in<Label>(1), *steps = b.in<Label>(2), *counts = b.in<Label>(3);
  for (std::int64_t i = 0; i < p.batch; ++i) {
    if (steps[i] < 0 || steps[i] > p.time)
      fail_numeric(origin,
                   fmt::format("expected logit_lengths in [0, {}], got {} for sequence {}", p.time, steps[i], i));
    if (counts[i] < 0 || counts[i] > p.labels)
      fail_numeric(origin,
                   fmt::format("expected label_lengths in [0, {}], got {} for sequence {}", p.labels, counts[i], i));
    for (std::int64_t k = 0; k < static_cast<std::int64_t>(counts[i]); ++k) {
      const Label label = labels[i * p.labels + k];
      if (label < 0 || label >= p.classes || label == p.blank)
        fail_numeric(origin, fmt::format("expected labels in [0, {}) other than the blank {}, got {} as label {} of "
                                         "sequence {}",
                                         p.classes, p.blank, label, k, i));
    }
  }
}

template <class T, class Label>
void run(const Problem& p, const Buffers& b) {
  const T* x = b.in<T>(0);
  T *loss = b.out<T>(0), *slope = b.out<T>(1);
  parallel_for(p.batch, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      double* scratch = static_cast<double*>(b.scratch) + i * p.scratch();
      const Sequence<T, Label> sequence{.p = p,
                                        .x = x + i * p.classes,
                                        .labels = b.in<Label>(1) + i * p.labels,
                                        .steps = static_cast<std::int64_t>(b.in<Label>(2)[i]),
                                        .count = static_cast<std::int64_t>(b.in<Label>(3)[i]),
                                        .stride = p.batch * p.classes,
                                        .alpha = scratch,
                                        .beta = scratch + p.time * p.positions()};
      for (std::int64_t t = 0; t < p.time; ++t) std::fill_n(slope + (t * p.batch + i) * p.classes, p.classes, T(0));
      const double total = sequence.forward();
      loss[i] = static_cast<T>(-total);
      if (total > kNever) sequence.backward(total, slope + i * p.classes);
    }
  });
}

const KernelRegistration ctc_kernel = define_kernel("CtcLoss").make([](const KernelContext& c) {
  return make_for<Floats>(c, c.output().dtype, [&]<class T>() {
    const Problem p(c);
    const auto kernel = [&]<class Label>(Label) {
      return simple_kernel(
          [p, origin = c.origin](const Buffers& b, const Step&) {
            check<T, Label>(p, b, origin);
            run<T, Label>(p, b);
          },
          static_cast<std::size_t>(p.batch * p.scratch()) * sizeof(double));
    };
    return c.input(1).dtype == i64 ? kernel(std::int64_t()) : kernel(std::int32_t());
  });
});

}  // namespace
}  // namespace belfry
