// Group norm: f32 on batch norm's vector passes, in the examples' own layout; plain loops for f64, for empty tensors,
// and for the means that second derivatives are made of.
#include <cmath>

#include "belfry/base/parallel.h"
#include "belfry/engine/cpu/kernel/kernel_dispatch.h"
#include "belfry/engine/cpu/kernel/strided_loop.h"
#include "belfry/engine/cpu/lanes/channel_layout.h"
#include "belfry/engine/cpu/lanes/channel_loops.h"
#include "belfry/engine/cpu/norm/group_norm_team.h"

namespace belfry {
namespace {

std::int64_t groups_of(const KernelContext& c, const Shape& x) {
  const std::int64_t groups = c.attributes->integer("groups");
  return groups == 0 ? x[channel_axis_of(c)] : groups;
}

// A plain tensor as [examples, before, channels, behind], with `before` or `behind` being 1.
struct Plain {
  std::int64_t examples, before, channels, behind, groups, depth;
  double epsilon;

  Plain(const KernelContext& c, const Shape& x)
      : examples(x[0]),
        before(x.slice(1, channel_axis_of(c)).elements()),
        channels(x[channel_axis_of(c)]),
        behind(x.slice(channel_axis_of(c) + 1, x.rank()).elements()),
        groups(groups_of(c, x)),
        depth(groups == 0 ? 0 : channels / groups),
        epsilon(c.attributes->get<double>("epsilon")) {}
  double count() const { return static_cast<double>(before * depth * behind); }

  // visit(channel, place) for the elements of one group of one example
  template <class Visit>
  void elements(std::int64_t n, std::int64_t g, Visit visit) const {
    for (std::int64_t b = 0; b < before; ++b)
      for (std::int64_t c = g * depth; c < (g + 1) * depth; ++c)
        for (std::int64_t k = 0; k < behind; ++k) visit(c, ((n * before + b) * channels + c) * behind + k);
  }
  // body(example, group), by the whole team
  template <class Body>
  void for_each_group(Body body) const {
    const std::int64_t work = std::max<std::int64_t>(before * depth * behind, 1);
    parallel_for(examples * groups, std::max<std::int64_t>(kPointwiseGrain / work, 1),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t i = begin; i < end; ++i) body(i / groups, i % groups);
                 });
  }

  template <class T>
  double mean(const T* x, std::int64_t n, std::int64_t g) const {
    double sum = 0;
    elements(n, g, [&](std::int64_t, std::int64_t at) { sum += static_cast<double>(x[at]); });
    return count() == 0 ? 0 : sum / count();
  }
};

template <class T>
void forward(const Plain& p, const Buffers& b) {
  const T *x = b.in<T>(0), *gamma = b.in<T>(1), *beta = b.in<T>(2);
  p.for_each_group([&](std::int64_t n, std::int64_t g) {
    const double mean = p.mean(x, n, g);
    double squares = 0;
    p.elements(n, g, [&](std::int64_t, std::int64_t at) {
      const double d = static_cast<double>(x[at]) - mean;
      squares += d * d;
    });
    const double inv_std = 1 / std::sqrt((p.count() == 0 ? 0 : squares / p.count()) + p.epsilon);
    b.out<T>(1)[n * p.groups + g] = static_cast<T>(mean);
    b.out<T>(2)[n * p.groups + g] = static_cast<T>(inv_std);
    p.elements(n, g, [&](std::int64_t c, std::int64_t at) {
      b.out<T>()[at] = static_cast<T>((static_cast<double>(x[at]) - mean) * inv_std) * gamma[c] + beta[c];
    });
  });
}

template <class T>
void backward(const Plain& p, const Buffers& b) {
  const T *dy = b.in<T>(0), *x = b.in<T>(1), *gamma = b.in<T>(2), *mean = b.in<T>(3), *inv_std = b.in<T>(4);
  T *dx = b.out<T>(0), *dgamma = b.out<T>(1), *dbeta = b.out<T>(2);
  const auto xhat = [&](std::int64_t group, std::int64_t at) { return (x[at] - mean[group]) * inv_std[group]; };
  // Before dx, which may use dy's memory: one thread has all of a group's channels, so the order of a sum is fixed.
  parallel_for(p.groups, 1, [&](std::int64_t begin, std::int64_t end) {
    std::fill(dgamma + begin * p.depth, dgamma + end * p.depth, T(0));
    std::fill(dbeta + begin * p.depth, dbeta + end * p.depth, T(0));
    for (std::int64_t g = begin; g < end; ++g)
      for (std::int64_t n = 0; n < p.examples; ++n)
        p.elements(n, g, [&](std::int64_t c, std::int64_t at) {
          dgamma[c] += dy[at] * xhat(n * p.groups + g, at);
          dbeta[c] += dy[at];
        });
  });
  p.for_each_group([&](std::int64_t n, std::int64_t g) {
    const std::int64_t group = n * p.groups + g;
    T first = 0, second = 0;
    p.elements(n, g, [&](std::int64_t c, std::int64_t at) {
      first += dy[at] * gamma[c];
      second += dy[at] * gamma[c] * xhat(group, at);
    });
    const T count = static_cast<T>(p.count());
    p.elements(n, g, [&](std::int64_t c, std::int64_t at) {
      dx[at] = (dy[at] * gamma[c] - first / count - xhat(group, at) * second / count) * inv_std[group];
    });
  });
}

// x (and dy) in the layout that x has, if it has channels; vectors and statistics plain.
LayoutChoice layouts(const KernelContext& c, std::size_t images, int x) {
  LayoutChoice choice{std::vector<Layout>(c.inputs.size()), std::vector<Layout>(c.outputs.size()), {}};
  if (c.output().dtype != DType::f32) return choice;
  choice.outputs[0] = channel_layout(c.input(x), channel_axis_of(c));
  std::fill_n(choice.inputs.begin(), images, choice.outputs[0]);
  return choice;
}

bool fast(const KernelContext& c) { return c.output().dtype == DType::f32 && c.output().elements() > 0; }

const KernelRegistration group_norm_kernel =
    define_kernel("GroupNorm")
        .layout_rule([](const KernelContext& c) { return layouts(c, 1, 0); })
        .follows_inputs()
        .in_place(0)
        .make([](const KernelContext& c) {
          if (!fast(c))
            return make_for<Floats>(c, c.output().dtype, [&]<class T>() {
              return simple_kernel(
                  [p = Plain(c, c.input(0).shape)](const Buffers& b, const Step&) { forward<T>(p, b); });
            });
          const ActivationView view = activation_view(c.input(0), channel_axis_of(c));
          return simple_kernel(
              [view, groups = groups_of(c, c.input(0).shape),
               epsilon = static_cast<float>(c.attributes->get<double>("epsilon"))](const Buffers& b, const Step&) {
                group_norm_forward({.view = view,
                                    .norm_groups = groups,
                                    .epsilon = epsilon,
                                    .x = b.in<float>(0),
                                    .gamma = b.in<float>(1),
                                    .beta = b.in<float>(2),
                                    .y = b.out<float>(0),
                                    .mean = b.out<float>(1),
                                    .inv_std = b.out<float>(2),
                                    .scratch = b.scratch});
              },
              group_norm_scratch_bytes(view, c.threads));
        });

const KernelRegistration group_norm_grad_kernel =
    define_kernel("GroupNormGrad")
        .layout_rule([](const KernelContext& c) { return layouts(c, 2, 1); })
        .follows_inputs()
        .in_place(0)
        .in_place(1)
        .make([](const KernelContext& c) {
          if (!fast(c))
            return make_for<Floats>(c, c.output().dtype, [&]<class T>() {
              return simple_kernel(
                  [p = Plain(c, c.input(1).shape)](const Buffers& b, const Step&) { backward<T>(p, b); });
            });
          const ActivationView view = activation_view(c.input(1), channel_axis_of(c));
          return simple_kernel(
              [view, groups = groups_of(c, c.input(1).shape)](const Buffers& b, const Step&) {
                group_norm_backward({.view = view,
                                     .norm_groups = groups,
                                     .dy = b.in<float>(0),
                                     .x = b.in<float>(1),
                                     .gamma = b.in<float>(2),
                                     .mean = b.in<float>(3),
                                     .inv_std = b.in<float>(4),
                                     .dx = b.out<float>(0),
                                     .dgamma = b.out<float>(1),
                                     .dbeta = b.out<float>(2),
                                     .scratch = b.scratch});
              },
              group_norm_scratch_bytes(view, c.threads));
        });

const KernelRegistration group_mean_kernel = define_kernel("GroupMean").in_place(0).make([](const KernelContext& c) {
  return make_for<Floats>(c, c.output().dtype, [&]<class T>() {
    return simple_kernel([p = Plain(c, c.input(0).shape)](const Buffers& b, const Step&) {
      p.for_each_group([&](std::int64_t n, std::int64_t g) {
        const T mean = static_cast<T>(p.mean(b.in<T>(0), n, g));
        p.elements(n, g, [&](std::int64_t, std::int64_t at) { b.out<T>()[at] = mean; });
      });
    });
  });
});

}  // namespace
}  // namespace belfry
