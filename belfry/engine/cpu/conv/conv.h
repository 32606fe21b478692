// Which code computes a convolution: oneDNN's, our own or plain loops. Internal to engine/cpu.
#pragma once

#include "belfry/engine/cpu/conv/conv_call.h"

namespace belfry {

LayoutChoice conv_layouts(const KernelContext& c, const ConvCall& call);
Algorithms conv_algorithms(const KernelContext& c, const ConvCall& call);
KernelPtr make_conv(const KernelContext& c, const ConvCall& call);

// A kernel whose nodes `call_of` translates to calls; `factors` are the inputs that it multiplies.
KernelRegistration define_conv_kernel(const char* op, std::vector<int> factors, double (*flops)(const Work&),
                                      ConvCall (*call_of)(const KernelContext& c));

}  // namespace belfry
