// Our gradients with respect to images of few channels, from any layout of dy that has channels.
#pragma once

#include "belfry/engine/cpu/conv/conv_call.h"

namespace belfry {

// Whether these kernels compute it: a fixed rule by shape and instruction set.
bool has_few_channels(const ConvCall& call);

LayoutChoice few_channels_layouts(const KernelContext& c, const ConvCall& call);
KernelPtr make_few_channels(const KernelContext& c, const ConvCall& call);

}  // namespace belfry
