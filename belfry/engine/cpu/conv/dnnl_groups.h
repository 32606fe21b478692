// The weights of grouped convolutions, which are [g, o, i, h, w] to oneDNN and [h, w, i, g * o] to the op. Internal to
// engine/cpu.
#pragma once

#include <oneapi/dnnl/dnnl_types.h>

#include "belfry/ops/internal/conv_geometry.h"

namespace belfry {

// The same memory seen as [g * o, i, h, w]; false if the groups are padded or do not lie one after the other.
bool merge_groups(const dnnl_memory_desc_t& grouped, dnnl_memory_desc_t& merged);
// The op's own row-major weights as oneDNN sees them.
dnnl_memory_desc_t plain_grouped_filter(const ConvGeometry& g);

}  // namespace belfry
