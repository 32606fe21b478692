// oneDNN's f32 convolutions: the layouts it wants, and its primitives as kernels.
#pragma once

#include "belfry/engine/cpu/conv_call.h"

namespace belfry {

LayoutChoice dnnl_conv_layouts(const KernelContext& c, ConvPass pass);
KernelPtr make_dnnl_conv(const KernelContext& c, ConvPass pass);

// Whether oneDNN has generated code for this one on channel-blocked images. What it falls back to for some groups is
// tens to thousands of times slower.
bool dnnl_is_fast(const ConvCall& call);

}  // namespace belfry
