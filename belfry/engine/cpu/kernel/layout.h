// How tensors lie in the CPU's plans. The logical shape never changes; the layout says where the elements lie. Held as
// a oneDNN memory descriptor whose dimensions are in the tensor's own logical order.
#pragma once

#include <oneapi/dnnl/dnnl_types.h>

#include <cstddef>
#include <span>
#include <vector>

#include "belfry/array/dtype.h"
#include "belfry/array/shape.h"
#include "belfry/engine/layout.h"

namespace belfry {

// A descriptor that happens to be dense and row-major gives the plain layout. The name of others is oneDNN's tag
// letters, such as "aDbc16d".
Layout layout_of(const dnnl_memory_desc_t& descriptor);
// Not of a plain layout.
const dnnl_memory_desc_t& descriptor_in(const Layout& layout);

// The descriptor of a tensor of this shape in this layout.
dnnl_memory_desc_t descriptor_of(const Shape& shape, DType dtype, const Layout& layout = {});
// The same memory with its axes renamed: new axis i is old axis order[i].
dnnl_memory_desc_t permuted(const dnnl_memory_desc_t& descriptor, const std::vector<int>& order);
// Batch, channels in groups of `block`, the other axes in logical order, then the channels of a group. Block 1: batch,
// channels, the others.
Layout channel_blocked(const Shape& shape, int channel_axis, int block);
// Where an element lies, counted in elements. Not of a plain layout.
std::int64_t physical_offset(const Layout& layout, std::span<const std::int64_t> index);
// Whether the layout has padding elements (which are always zero).
bool has_padding(const Layout& layout);

// A tensor with a channel axis as data[outer][groups][rows][inner]: channel = group * inner + lane, lanes past
// `channels` are padding. Covers plain channels-last, plain channels-first and channel-blocked layouts.
struct ChannelView {
  std::int64_t outer = 0, groups = 0, rows = 0, inner = 0, channels = 0;
};
// False if the layout is none of these.
bool channel_view(const Shape& shape, const Layout& layout, int channel_axis, ChannelView& view);

}  // namespace belfry
