// Updates of the rows of a table that a sparse gradient has. As in optimizer.cc, variable and slots are updated where
// they lie. ids and rows are the last two inputs; ids end with -1.
#include <cmath>

#include "belfry/engine/cpu/fast_update.h"
#include "belfry/engine/cpu/indices.h"
#include "belfry/engine/cpu/kernel_dispatch.h"
#include "belfry/engine/cpu/kernels/optimizer_rows.h"
#include "belfry/engine/cpu/strided_loop.h"

namespace belfry {
namespace {

// The table, and the ids [capacity] of which some are used.
struct Table {
  explicit Table(const KernelContext& c)
      : width(c.input(0).shape.slice(1, c.input(0).shape.rank()).elements()),
        ids_input(static_cast<int>(c.inputs.size()) - 2),
        range{.shape = c.input(ids_input).shape, .first = -1, .end = c.input(0).shape[0], .origin = c.origin} {}

  // How many ids come before the first -1.
  template <class Index>
  std::int64_t count(const Buffers& b) const {
    const Index* ids = b.in<Index>(ids_input);
    range.check(ids);
    return std::find(ids, ids + range.shape[0], Index{-1}) - ids;
  }

  std::int64_t width;
  int ids_input;
  IndexRange range;
};

template <class Index>
KernelPtr make_fast(const KernelContext& c, FastUpdate u) {
  return simple_kernel([u = std::move(u), table = Table(c)](const Buffers& b, const Step&) {
    apply_update(u.step(b),
                 {.weights = b.out<float>(),
                  .gradient = b.in<float>(table.ids_input + 1),
                  .slot0 = u.slots > 0 ? slot<float>(b, 1) : nullptr,
                  .slot1 = u.slots > 1 ? slot<float>(b, 2) : nullptr},
                 {.ids = b.in<void>(table.ids_input),
                  .wide = sizeof(Index) == sizeof(std::int64_t),
                  .count = table.count<Index>(b),
                  .width = table.width});
  });
}

// f64: rule_of(buffers) gives a rule(i, g) that updates element i of variable and slots by g.
template <class Index, class RuleOf>
KernelPtr make_exact(const KernelContext& c, RuleOf rule_of) {
  return simple_kernel([table = Table(c), rule_of](const Buffers& b, const Step&) {
    const auto rule = rule_of(b);
    const Index* ids = b.in<Index>(table.ids_input);
    const double* rows = b.in<double>(table.ids_input + 1);
    const std::int64_t n = table.count<Index>(b) * table.width;
    parallel_for(n, kPointwiseGrain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i)
        rule(static_cast<std::int64_t>(ids[i / table.width]) * table.width + i % table.width, rows[i]);
    });
  });
}

template <class Fast, class RuleOf>
KernelPtr make_update(const KernelContext& c, Fast fast, RuleOf rule_of) {
  return make_for_index(c.input(static_cast<int>(c.inputs.size()) - 2).dtype, [&]<class Index>() {
    return make_for<Floats>(c, c.output().dtype, [&]<class T>() {
      if constexpr (std::is_same_v<T, float>)
        return make_fast<Index>(c, fast(c));
      else
        return make_exact<Index>(c, rule_of);
    });
  });
}

double number(const KernelContext& c, const char* name) { return c.attributes->get<double>(name); }

const KernelRegistration sgd_kernel = define_kernel("ApplySgdRows").make([](const KernelContext& c) {
  return make_update(c, fast_sgd, [decay = number(c, "weight_decay"), rate_type = c.input(1).dtype](const Buffers& b) {
    return [=, rate = scalar_input(b, 1, rate_type), w = b.out<double>()](std::int64_t i, double g) {
      w[i] -= rate * (g + decay * w[i]);
    };
  });
});

const KernelRegistration momentum_kernel = define_kernel("ApplyMomentumRows").make([](const KernelContext& c) {
  return make_update(c, fast_momentum,
                     [decay = number(c, "weight_decay"), momentum = number(c, "momentum"),
                      nesterov = c.attributes->flag("nesterov"), rate_type = c.input(2).dtype](const Buffers& b) {
                       return [=, rate = scalar_input(b, 2, rate_type), w = b.out<double>(),
                               accumulator = slot<double>(b, 1)](std::int64_t i, double g) {
                         const double gradient = g + decay * w[i];
                         accumulator[i] = momentum * accumulator[i] + gradient;
                         w[i] -= rate * (nesterov ? gradient + momentum * accumulator[i] : accumulator[i]);
                       };
                     });
});

const KernelRegistration adam_kernel = define_kernel("ApplyAdamRows").make([](const KernelContext& c) {
  return make_update(
      c, fast_adam,
      [decay = number(c, "weight_decay"), beta1 = number(c, "beta1"), beta2 = number(c, "beta2"),
       epsilon = number(c, "epsilon"), step_type = c.input(3).dtype, rate_type = c.input(4).dtype](const Buffers& b) {
        const double step = scalar_input(b, 3, step_type);
        const double size = scalar_input(b, 4, rate_type) / (1 - std::pow(beta1, step));
        const double root = std::sqrt(1 - std::pow(beta2, step));
        return [=, w = b.out<double>(), m = slot<double>(b, 1), v = slot<double>(b, 2)](std::int64_t i, double g) {
          const double gradient = g + decay * w[i];
          m[i] += (1 - beta1) * (gradient - m[i]);
          v[i] = beta2 * v[i] + (1 - beta2) * gradient * gradient;
          w[i] -= size * (m[i] / (std::sqrt(v[i]) / root + epsilon));
        };
      });
});

}  // namespace
}  // namespace belfry
