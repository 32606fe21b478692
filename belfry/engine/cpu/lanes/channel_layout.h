// For kernels that work on any layout with a channel axis: which one to use, and its view. Internal to engine.
#pragma once

#include "belfry/engine/cpu/kernel/kernel.h"
#include "belfry/engine/cpu/lanes/activation_view.h"
#include "belfry/engine/cpu/pointwise/pointwise_simd.h"

namespace belfry {

// The tensor's own layout if it can be seen as channels, else plain.
Layout channel_layout(const TensorInfo& info, int channel_axis);
// The view of a tensor whose layout came from channel_layout().
ActivationView activation_view(const TensorInfo& info, int channel_axis);
// Where the padding of a tensor in blocks of channels is; false if it has none, or not of this kind.
bool channel_padding(const TensorInfo& info, simd::PointwisePadding& padding);

}  // namespace belfry
