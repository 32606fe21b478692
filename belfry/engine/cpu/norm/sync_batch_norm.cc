// The parts of batch normalisation across towers: sums before the towers synchronise, and what follows. f32 uses the
// vectorised passes of the ordinary one, in any layout with channels; f64 plain loops.
#include <cmath>

#include "belfry/engine/cpu/kernel/kernel_dispatch.h"
#include "belfry/engine/cpu/lanes/channel_layout.h"
#include "belfry/engine/cpu/lanes/channel_loops.h"
#include "belfry/engine/cpu/lanes/lane_plan.h"
#include "belfry/engine/cpu/norm/batch_norm_team.h"

namespace belfry {
namespace {

// x, and dy if there is one, in x's own layout if it has channels; vectors plain.
LayoutRule rule(int x, std::size_t results) {
  return [x, results](const KernelContext& c) {
    const bool vectorised = c.input(x).dtype == DType::f32;
    const Layout layout = vectorised ? channel_layout(c.input(x), channel_axis_of(c)) : Layout();
    LayoutChoice choice{std::vector<Layout>(c.inputs.size()), std::vector<Layout>(c.outputs.size()), {}};
    for (int i = 0; i <= x; ++i) choice.inputs[static_cast<std::size_t>(i)] = layout;
    for (std::size_t i = 0; i < results; ++i) choice.outputs[i] = layout;
    return choice;
  };
}

const KernelRegistration sums_kernel =
    define_kernel("BatchNormSums").layout_rule(rule(0, 0)).make([](const KernelContext& c) {
      const ChannelGeometry g = channel_geometry(c, 0);
      if (c.input(0).dtype == DType::f32) {
        const ActivationView view = activation_view(c.input(0), channel_axis_of(c));
        return simple_kernel(
            [view, g](const Buffers& b, const Step&) {
              double* out = b.out<double>();
              std::fill_n(out, g.channels, static_cast<double>(g.count()));
              batch_norm_forward({.view = view,
                                  .x = b.in<float>(0),
                                  .sum = out + g.channels,
                                  .square_sum = out + 2 * g.channels,
                                  .scratch = b.scratch});
            },
            batch_norm_scratch_bytes(view, c.threads));
      }
      return simple_kernel([g](const Buffers& b, const Step&) {
        const double* x = b.in<double>(0);
        double* out = b.out<double>();
        for_each_channel(g, [&](std::int64_t k) {
          double sum = 0, squares = 0;
          for_each_element(g, k, [&](std::int64_t i) { sum += x[i], squares += x[i] * x[i]; });
          out[k] = static_cast<double>(g.count());
          out[g.channels + k] = sum;
          out[2 * g.channels + k] = squares;
        });
      });
    });

const KernelRegistration gradient_sums_kernel =
    define_kernel("BatchNormGradSums").layout_rule(rule(1, 0)).make([](const KernelContext& c) {
      const ChannelGeometry g = channel_geometry(c, 1);
      const double epsilon = c.attributes->get<double>("epsilon");
      if (c.input(1).dtype == DType::f32) {
        const ActivationView view = activation_view(c.input(1), channel_axis_of(c));
        const std::size_t own = cache_lines(static_cast<std::size_t>(g.channels) * sizeof(float));
        return simple_kernel(
            [view, own, g, epsilon = static_cast<float>(epsilon)](const Buffers& b, const Step&) {
              float* inv_std = static_cast<float*>(b.scratch);
              for (std::int64_t i = 0; i < g.channels; ++i) inv_std[i] = 1.f / std::sqrt(b.in<float>(3)[i] + epsilon);
              batch_norm_backward({.view = view,
                                   .dy = b.in<float>(0),
                                   .x = b.in<float>(1),
                                   .mean = b.in<float>(2),
                                   .inv_std = inv_std,
                                   .dgamma = b.out<float>(0),
                                   .dbeta = b.out<float>(1),
                                   .scratch = static_cast<char*>(b.scratch) + own});
            },
            own + batch_norm_scratch_bytes(view, c.threads));
      }
      return simple_kernel([g, epsilon](const Buffers& b, const Step&) {
        const double *dy = b.in<double>(0), *x = b.in<double>(1);
        for_each_channel(g, [&](std::int64_t k) {
          double sum = 0, product = 0;
          for_each_element(g, k, [&](std::int64_t i) { sum += dy[i], product += dy[i] * (x[i] - b.in<double>(2)[k]); });
          b.out<double>(0)[k] = product / std::sqrt(b.in<double>(3)[k] + epsilon);
          b.out<double>(1)[k] = sum;
        });
      });
    });

const KernelRegistration blend_kernel =
    define_kernel("BatchNormBlend").layout_rule(rule(1, 1)).in_place(0).in_place(1).make([](const KernelContext& c) {
      if (c.input(1).dtype == DType::f32) {
        const ActivationView view = activation_view(c.input(1), channel_axis_of(c));
        return simple_kernel(
            [view](const Buffers& b, const Step&) {
              batch_norm_blend({.view = view,
                                .dy = b.in<float>(0),
                                .x = b.in<float>(1),
                                .mean = b.in<float>(2),
                                .scale = b.in<float>(3),
                                .slope = b.in<float>(4),
                                .shift = b.in<float>(5),
                                .dx = b.out<float>(),
                                .scratch = b.scratch});
            },
            batch_norm_scratch_bytes(view, c.threads));
      }
      return simple_kernel([g = channel_geometry(c, 1)](const Buffers& b, const Step&) {
        const auto number = [&](int i, std::int64_t k) { return b.in<double>(i)[k]; };
        for_each_channel(g, [&](std::int64_t k) {
          for_each_element(g, k, [&](std::int64_t i) {
            b.out<double>()[i] =
                number(3, k) * number(0, i) + number(4, k) * (number(1, i) - number(2, k)) + number(5, k);
          });
        });
      });
    });

}  // namespace
}  // namespace belfry
