// Batch norm + residual + relu on channel-blocked, channels-last or channels-first f32 tensors. Made by the fuse
// pass.
#include <cmath>

#include "belfry/engine/cpu/lanes/channel_layout.h"
#include "belfry/engine/cpu/lanes/channel_loops.h"
#include "belfry/engine/cpu/lanes/lane_plan.h"
#include "belfry/engine/cpu/norm/batch_norm_team.h"

namespace belfry {
namespace {

float epsilon_of(const KernelContext& c) { return static_cast<float>(c.attributes->get<double>("epsilon")); }

float alpha_of(const KernelContext& c) { return static_cast<float>(c.attributes->get_or<double>("alpha", 0)); }

Shape mask_shape(const TensorInfo& x, int axis) {
  return {static_cast<std::int64_t>(batch_norm_mask_bytes(activation_view(x, axis)))};
}

// Inputs x, gamma, beta[, residual]; outputs y, mean, variance and, with attribute "relu" (its slope below 0 is
// "alpha"), its mask.
const KernelRegistration forward_kernel =
    define_kernel("FusedBatchNorm")
        .layout_rule([](const KernelContext& c) {
          TensorInfo x = c.input(0);
          x.layout = channel_layout(x, channel_axis_of(c));
          LayoutChoice choice{{x.layout, Layout(), Layout()}, {x.layout, Layout(), Layout()}, {}};
          if (c.attributes->flag("relu")) {
            choice.outputs.emplace_back();
            choice.workspaces = {{3, mask_shape(x, channel_axis_of(c))}};
          }
          if (c.inputs.size() > 3) choice.inputs.push_back(x.layout);
          return choice;
        })
        .in_place(3)
        .make([](const KernelContext& c) {
          const ActivationView view = activation_view(c.input(0), channel_axis_of(c));
          const bool residual = c.inputs.size() > 3, relu = c.attributes->flag("relu");
          return simple_kernel(
              [view, residual, relu, alpha = alpha_of(c), epsilon = epsilon_of(c)](const Buffers& b, const Step&) {
                batch_norm_forward({.view = view,
                                    .x = b.in<float>(0),
                                    .gamma = b.in<float>(1),
                                    .beta = b.in<float>(2),
                                    .residual = residual ? b.in<float>(3) : nullptr,
                                    .epsilon = epsilon,
                                    .relu = relu,
                                    .alpha = alpha,
                                    .y = b.out<float>(0),
                                    .mean = b.out<float>(1),
                                    .variance = b.out<float>(2),
                                    .mask = relu ? b.out<std::uint8_t>(3) : nullptr,
                                    .scratch = b.scratch});
              },
              batch_norm_scratch_bytes(view, c.threads));
        });

// Inputs dy, x, gamma, mean, variance, with attribute "relu" its mask, with attribute "sum" a second gradient to be
// added to dy; outputs dx, dgamma, dbeta[, masked dy].
const KernelRegistration backward_kernel =
    define_kernel("FusedBatchNormGrad")
        .layout_rule([](const KernelContext& c) {
          const Layout layout = channel_layout(c.input(1), channel_axis_of(c));
          LayoutChoice choice{{layout, layout, Layout(), Layout(), Layout()}, {layout, Layout(), Layout()}, {}};
          if (c.attributes->flag("relu")) choice.inputs.emplace_back();
          if (c.attributes->flag("sum")) choice.inputs.push_back(layout);
          if (c.outputs.size() > 3) choice.outputs.push_back(layout);
          return choice;
        })
        .in_place(0, 3)
        .make([](const KernelContext& c) {
          const ActivationView view = activation_view(c.input(1), channel_axis_of(c));
          const int second = c.attributes->flag("sum") ? static_cast<int>(c.inputs.size()) - 1 : 0;
          const std::size_t own = cache_lines(static_cast<std::size_t>(view.channels) * sizeof(float));
          return simple_kernel(
              [view, own, second, shared = c.outputs.size() > 3, relu = c.attributes->flag("relu"), alpha = alpha_of(c),
               epsilon = epsilon_of(c)](const Buffers& b, const Step&) {
                float* inv_std = static_cast<float*>(b.scratch);
                for (std::int64_t i = 0; i < view.channels; ++i)
                  inv_std[i] = 1.f / std::sqrt(b.in<float>(4)[i] + epsilon);
                batch_norm_backward({.view = view,
                                     .dy = b.in<float>(0),
                                     .dy2 = second > 0 ? b.in<float>(second) : nullptr,
                                     .x = b.in<float>(1),
                                     .mean = b.in<float>(3),
                                     .inv_std = inv_std,
                                     .gamma = b.in<float>(2),
                                     .mask = relu ? b.in<std::uint8_t>(5) : nullptr,
                                     .alpha = alpha,
                                     .dx = b.out<float>(0),
                                     .dgamma = b.out<float>(1),
                                     .dbeta = b.out<float>(2),
                                     .d_residual = shared ? b.out<float>(3) : nullptr,
                                     .scratch = static_cast<char*>(b.scratch) + own});
              },
              own + batch_norm_scratch_bytes(view, c.threads));
        });

}  // namespace
}  // namespace belfry
