// Which of oneDNN's convolution primitives computes a call.
#pragma once

#include "belfry/engine/cpu/conv/conv_call.h"
#include "belfry/engine/cpu/dnnl/dnnl_kernel.h"

namespace belfry {

// By a fixed rule of shape and instruction set, or the one that call.algorithm names.
DnnlDescriptor dnnl_conv_descriptor(const ConvCall& call);
// What autotune may choose from.
Algorithms dnnl_conv_algorithms(const ConvCall& call);

// Whether oneDNN has generated code for this one on channel-blocked images. For some groups it falls back to code that
// is tens to thousands of times slower.
bool dnnl_is_fast(const ConvCall& call);

}  // namespace belfry
