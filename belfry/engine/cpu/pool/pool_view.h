// Translates the pooling ops to the vector kernels' Pooling. Internal to engine/cpu.
#pragma once

#include "belfry/engine/cpu/kernel/kernel.h"
#include "belfry/engine/cpu/pool/pool_team.h"

namespace belfry {

// The layout for both sides of a pooling, given the one of `info` (either side): `info`'s own if it can be seen as
// channels, else plain.
Layout pool_layout(const TensorInfo& info, const Attributes& attributes);
// That layout for the other side: the same order and blocks with that side's sizes.
Layout pool_layout_like(const Layout& layout, const TensorInfo& other, const Attributes& attributes);

// `x` is the pooled tensor: its shape, and the layout from above.
Pooling pooling_of(const Shape& x, const Layout& layout, const Attributes& attributes);

}  // namespace belfry
