// da = ReluGrad(dy, y) and the bias gradient sum(da) in one pass, or the bias gradient alone. Made by the fuse pass.
#include "belfry/engine/cpu/conv/bias_gradient.h"
#include "belfry/engine/cpu/lanes/channel_layout.h"

namespace belfry {
namespace {

int axis_of(const KernelContext& c) { return static_cast<int>(c.attributes->integer("axis")); }

const KernelRegistration kernel = define_kernel("FusedReluGradBias")
                                      .layout_rule([](const KernelContext& c) {
                                        const Layout layout = channel_layout(c.input(1), axis_of(c));
                                        return LayoutChoice{{layout, layout}, {layout, Layout()}};
                                      })
                                      .in_place(0)
                                      .make([](const KernelContext& c) {
                                        const ActivationView view = activation_view(c.input(1), axis_of(c));
                                        return simple_kernel(
                                            [view](const Buffers& b, const Step&) {
                                              relu_backward_bias({.view = view,
                                                                  .dy = b.in<float>(0),
                                                                  .y = b.in<float>(1),
                                                                  .dx = b.out<float>(0),
                                                                  .dbias = b.out<float>(1),
                                                                  .scratch = b.scratch});
                                            },
                                            bias_gradient_scratch_bytes(view, c.threads));
                                      });

const KernelRegistration alone_kernel =
    define_kernel("FusedBiasGrad")
        .layout_rule([](const KernelContext& c) {
          return LayoutChoice{{channel_layout(c.input(0), axis_of(c)), Layout()}, {Layout()}};
        })
        .make([](const KernelContext& c) {
          const ActivationView view = activation_view(c.input(0), axis_of(c));
          return simple_kernel(
              [view](const Buffers& b, const Step&) {
                bias_gradient({.view = view, .dy = b.in<float>(0), .dbias = b.out<float>(), .scratch = b.scratch});
              },
              bias_gradient_scratch_bytes(view, c.threads));
        });

}  // namespace
}  // namespace belfry
