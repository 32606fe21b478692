#include "belfry/engine/cpu/lanes/channel_layout.h"

#include "belfry/base/check.h"

namespace belfry {

Layout channel_layout(const TensorInfo& info, int channel_axis) {
  ChannelView view;
  return channel_view(info.shape, info.layout, channel_axis, view) ? info.layout : Layout();
}

ActivationView activation_view(const TensorInfo& info, int channel_axis) {
  ChannelView view;
  BELFRY_BUG_IF(!channel_view(info.shape, info.layout, channel_axis, view), "layout {} has no channels",
                info.layout.name());
  return {view.outer, view.groups, view.rows, view.inner, view.channels};
}

bool channel_padding(const TensorInfo& info, simd::PointwisePadding& padding) {
  if (!has_padding(info.layout)) return false;
  const dnnl_memory_desc_t& d = descriptor_in(info.layout);
  ChannelView view;
  if (d.format_kind != dnnl_blocked || d.format_desc.blocking.inner_nblks != 1 ||
      !channel_view(info.shape, info.layout, static_cast<int>(d.format_desc.blocking.inner_idxs[0]), view))
    return false;
  if (16 % view.inner != 0) return false;
  padding = {.slab = view.rows * view.inner,
             .groups = view.groups,
             .inner = view.inner,
             .first = view.channels - (view.groups - 1) * view.inner};
  return true;
}

}  // namespace belfry
