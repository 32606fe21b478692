#include "belfry/engine/cpu/channel_layout.h"

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

}  // namespace belfry
