// Max pooling that keeps the winners' indices, and its gradient from them: what the fuse pass makes of MaxPool and
// MaxPoolGrad.
#include "belfry/engine/cpu/channel_layout.h"
#include "belfry/engine/cpu/kernels/pooling.h"
#include "belfry/ops/conv_geometry.h"

namespace belfry {
namespace {

int axis_of(const KernelContext& c) { return c.attributes->get<std::string>("data_format") == "NHWC" ? 3 : 1; }

// `x` is the pooled tensor: its shape, and the layout that both sides have.
Pooling pooling_of(const Shape& x, const Layout& layout, const KernelContext& c) {
  const ConvGeometry g = pool_geometry(x, *c.attributes);
  const ActivationView view = activation_view({.dtype = f32, .shape = x, .layout = layout}, axis_of(c));
  return {.outer = view.outer,
          .groups = view.groups,
          .inner = view.inner,
          .height = g.h,
          .width = g.w,
          .kernel_h = g.kh,
          .kernel_w = g.kw,
          .stride_h = g.strides.height,
          .stride_w = g.strides.width,
          .pad_top = g.pads.top,
          .pad_bottom = g.pads.bottom,
          .pad_left = g.pads.left,
          .pad_right = g.pads.right};
}

// A layout of one side of the pooling for the other: the same order and blocks with the other's sizes.
Layout like(const Layout& layout, const TensorInfo& info, int axis) {
  if (layout.plain()) return layout;
  const auto& blocking = layout.descriptor().format_desc.blocking;
  return channel_blocked(info.shape, axis, blocking.inner_nblks == 0 ? 1 : static_cast<int>(blocking.inner_blks[0]));
}

const KernelRegistration forward_kernel =
    define_kernel("MaxPoolIndexed")
        .layout_rule([](const KernelContext& c) {
          const Layout x = channel_layout(c.input(0), axis_of(c));
          const Layout y = like(x, c.output(), axis_of(c));
          return LayoutChoice{{x}, {y, Layout()}, {{1, Shape{pooling_of(c.input(0).shape, x, c).out_elements()}}}};
        })
        .make([](const KernelContext& c) {
          const Pooling pooling = pooling_of(c.input(0).shape, c.input(0).layout, c);
          return simple_kernel([pooling](const Buffers& b, const Step&) {
            max_pool_forward(
                {.pooling = pooling, .x = b.in<float>(0), .y = b.out<float>(0), .index = b.out<std::uint8_t>(1)});
          });
        });

// Inputs index, dy, y; output dx. With attribute "relu" the gradient of a relu before the pooling is taken along.
const KernelRegistration backward_kernel =
    define_kernel("MaxPoolIndexedGrad")
        .layout_rule([](const KernelContext& c) {
          const Layout y = channel_layout(c.input(2), axis_of(c));
          return LayoutChoice{{Layout(), y, y}, {like(y, c.output(), axis_of(c))}};
        })
        .make([](const KernelContext& c) {
          const Pooling pooling = pooling_of(c.output().shape, c.output().layout, c);
          return simple_kernel([pooling, relu = c.attributes->flag("relu")](const Buffers& b, const Step&) {
            max_pool_backward({.pooling = pooling,
                               .dy = b.in<float>(1),
                               .index = b.in<std::uint8_t>(0),
                               .y = relu ? b.in<float>(2) : nullptr,
                               .dx = b.out<float>(0)});
          });
        });

}  // namespace
}  // namespace belfry
