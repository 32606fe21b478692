// Our depthwise f32 convolutions on channel-blocked images, for cases that oneDNN has no fast code for.
#pragma once

#include "belfry/engine/cpu/conv/conv_call.h"

namespace belfry {

// One input channel per group.
inline bool is_depthwise(const ConvGeometry& g) { return g.groups > 1 && g.groups == g.c; }

LayoutChoice depthwise_layouts(const KernelContext& c, const ConvCall& call);
KernelPtr make_depthwise(const KernelContext& c, const ConvCall& call);

}  // namespace belfry
