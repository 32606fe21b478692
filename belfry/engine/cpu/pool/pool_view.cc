#include "belfry/engine/cpu/pool/pool_view.h"

#include "belfry/engine/cpu/lanes/channel_layout.h"
#include "belfry/ops/internal/conv_geometry.h"

namespace belfry {
namespace {

int channel_axis(const Attributes& attributes) { return attributes.get<std::string>("data_format") == "NHWC" ? 3 : 1; }

}  // namespace

Layout pool_layout(const TensorInfo& info, const Attributes& attributes) {
  return channel_layout(info, channel_axis(attributes));
}

Layout pool_layout_like(const Layout& layout, const TensorInfo& other, const Attributes& attributes) {
  if (layout.plain()) return layout;
  const auto& blocking = descriptor_in(layout).format_desc.blocking;
  return channel_blocked(other.shape, channel_axis(attributes),
                         blocking.inner_nblks == 0 ? 1 : static_cast<int>(blocking.inner_blks[0]));
}

Pooling pooling_of(const Shape& x, const Layout& layout, const Attributes& attributes) {
  const ConvGeometry g = pool_geometry(x, attributes);
  const ActivationView view =
      activation_view({.dtype = DType::f32, .shape = x, .layout = layout}, channel_axis(attributes));
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

}  // namespace belfry
