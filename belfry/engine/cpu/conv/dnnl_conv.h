// oneDNN's f32 convolutions: the layouts it wants, and its primitives as kernels.
#pragma once

#include "belfry/engine/cpu/conv/conv_call.h"

namespace belfry {

LayoutChoice dnnl_conv_layouts(const KernelContext& c, const ConvCall& call);
KernelPtr make_dnnl_conv(const ConvCall& call);

}  // namespace belfry
