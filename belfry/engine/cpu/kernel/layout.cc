#include "belfry/engine/cpu/kernel/layout.h"

#include <oneapi/dnnl/dnnl.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "belfry/base/check.h"
#include "belfry/engine/cpu/dnnl/dnnl_check.h"

namespace belfry {
namespace {

bool is_row_major(const dnnl_memory_desc_t& d) {
  const auto& b = d.format_desc.blocking;
  if (d.format_kind != dnnl_blocked || b.inner_nblks != 0) return false;
  std::int64_t stride = 1;
  for (int i = d.ndims - 1; i >= 0; --i) {
    if (d.dims[i] != 1 && b.strides[i] != stride) return false;
    stride *= d.dims[i];
  }
  return true;
}

dnnl_data_type_t dnnl_type(DType dtype) {
  switch (dtype) {
    case DType::f32: return dnnl_f32;
    case DType::i32: return dnnl_s32;
    case DType::u8:
    case DType::boolean: return dnnl_u8;
    default: return dnnl_data_type_undef;
  }
}

// oneDNN's tag letters.
std::string tag_of(const dnnl_memory_desc_t& d) {
  if (d.format_kind != dnnl_blocked) return d.format_kind == dnnl_format_kind_wino ? "winograd" : "opaque";
  const auto& b = d.format_desc.blocking;
  std::vector<int> order(static_cast<std::size_t>(d.ndims));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order,
                    [&](int x, int y) { return b.strides[x] != b.strides[y] ? b.strides[x] > b.strides[y] : x < y; });
  std::string text;
  for (int axis : order) {
    const bool blocked = std::find(b.inner_idxs, b.inner_idxs + b.inner_nblks, axis) != b.inner_idxs + b.inner_nblks;
    text += static_cast<char>((blocked ? 'A' : 'a') + axis);
  }
  for (int i = 0; i < b.inner_nblks; ++i)
    text += std::to_string(b.inner_blks[i]) + static_cast<char>('a' + b.inner_idxs[i]);
  return text;
}

class Described final : public Layout::Form {
 public:
  explicit Described(const dnnl_memory_desc_t& descriptor) : descriptor_(descriptor) {}
  const dnnl_memory_desc_t& descriptor() const { return descriptor_; }
  bool equals(const Form& other) const override {
    return dnnl_memory_desc_equal(&descriptor_, &static_cast<const Described&>(other).descriptor_) != 0;
  }
  std::string name() const override { return tag_of(descriptor_); }
  std::size_t bytes() const override { return dnnl_memory_desc_get_size(&descriptor_); }

 private:
  dnnl_memory_desc_t descriptor_;
};

}  // namespace

Layout layout_of(const dnnl_memory_desc_t& descriptor) {
  return is_row_major(descriptor) ? Layout() : Layout(std::make_shared<Described>(descriptor));
}

const dnnl_memory_desc_t& descriptor_in(const Layout& layout) {
  return static_cast<const Described&>(layout.form()).descriptor();
}

dnnl_memory_desc_t descriptor_of(const Shape& shape, DType dtype, const Layout& layout) {
  if (!layout.plain()) return descriptor_in(layout);
  dnnl_memory_desc_t out;
  dnnl_dims_t dims{}, strides{};
  const int rank = std::max(1, shape.rank());
  std::int64_t stride = 1;
  for (int i = rank - 1; i >= 0; --i) {
    dims[i] = shape.rank() == 0 ? 1 : shape[i];
    strides[i] = stride;
    stride *= std::max<std::int64_t>(1, dims[i]);
  }
  dnnl_check(dnnl_memory_desc_init_by_strides(&out, rank, dims, dnnl_type(dtype), strides), "memory descriptor");
  return out;
}

dnnl_memory_desc_t permuted(const dnnl_memory_desc_t& descriptor, const std::vector<int>& order) {
  // oneDNN's permutation says where each old axis goes.
  int destination[DNNL_MAX_NDIMS] = {};
  for (std::size_t i = 0; i < order.size(); ++i) destination[order[i]] = static_cast<int>(i);
  dnnl_memory_desc_t out;
  dnnl_check(dnnl_memory_desc_permute_axes(&out, &descriptor, destination), "permute axes");
  return out;
}

Layout channel_blocked(const Shape& shape, int channel_axis, int block) {
  // In the order batch, channel, others the tags are oneDNN's own; afterwards the axes are renamed back.
  constexpr dnnl_format_tag_t kPlain[] = {dnnl_abc, dnnl_abcd, dnnl_abcde};
  constexpr dnnl_format_tag_t kEight[] = {dnnl_aBc8b, dnnl_aBcd8b, dnnl_aBcde8b};
  constexpr dnnl_format_tag_t kSixteen[] = {dnnl_aBc16b, dnnl_aBcd16b, dnnl_aBcde16b};
  const int rank = shape.rank();
  BELFRY_BUG_IF(rank < 3 || rank > 5 || (block != 1 && block != 8 && block != 16), "no blocked layout for {} by {}",
                to_string(shape), block);
  std::vector<int> back(static_cast<std::size_t>(rank));  // where each logical axis is in the order above
  dnnl_dims_t dims{};
  int next = 2;
  for (int axis = 0; axis < rank; ++axis) {
    const int at = axis == 0 ? 0 : axis == channel_axis ? 1 : next++;
    back[static_cast<std::size_t>(axis)] = at;
    dims[at] = shape[axis];
  }
  const dnnl_format_tag_t tag = (block == 1 ? kPlain : block == 8 ? kEight : kSixteen)[rank - 3];
  dnnl_memory_desc_t out;
  dnnl_check(dnnl_memory_desc_init_by_tag(&out, rank, dims, dnnl_f32, tag), "blocked descriptor");
  return layout_of(permuted(out, back));
}

std::int64_t physical_offset(const Layout& layout, std::span<const std::int64_t> index) {
  const dnnl_memory_desc_t& descriptor = descriptor_in(layout);
  const dnnl_blocking_desc_t& blocking = descriptor.format_desc.blocking;
  std::array<std::int64_t, DNNL_MAX_NDIMS> place{};
  std::ranges::copy(index, place.begin());
  std::int64_t offset = descriptor.offset0, inner = 1;
  for (int block = blocking.inner_nblks - 1; block >= 0; --block) {
    std::int64_t& along = place[static_cast<std::size_t>(blocking.inner_idxs[block])];
    offset += along % blocking.inner_blks[block] * inner;
    along /= blocking.inner_blks[block];
    inner *= blocking.inner_blks[block];
  }
  for (std::size_t axis = 0; axis < index.size(); ++axis) offset += place[axis] * blocking.strides[axis];
  return offset;
}

bool has_padding(const Layout& layout) {
  if (layout.plain()) return false;
  const dnnl_memory_desc_t& d = descriptor_in(layout);
  return !std::equal(d.dims, d.dims + d.ndims, d.padded_dims);
}

bool channel_view(const Shape& shape, const Layout& layout, int channel_axis, ChannelView& view) {
  const int rank = shape.rank();
  const auto product = [&](int first, int last) { return shape.slice(first, last).elements(); };
  if (layout.plain()) {
    if (channel_axis == rank - 1)
      view = {shape[0], 1, rank > 1 ? product(1, rank - 1) : 1, shape[rank - 1], shape[rank - 1]};
    else
      view = {product(0, channel_axis), shape[channel_axis], product(channel_axis + 1, rank), 1, shape[channel_axis]};
    if (rank == 1) view = {1, 1, 1, shape[0], shape[0]};
    return true;
  }
  const dnnl_memory_desc_t& d = descriptor_in(layout);
  if (d.format_kind != dnnl_blocked) return false;
  const auto& b = d.format_desc.blocking;
  std::int64_t inner = 1, stride = 1;
  if (b.inner_nblks == 1 && b.inner_idxs[0] == channel_axis)
    inner = b.inner_blks[0];
  else if (b.inner_nblks != 0)
    return false;
  // Expected order of the outer axes: batch, channel groups, the other axes in logical order.
  stride = inner;
  std::int64_t rows = 1;
  for (int i = rank - 1; i >= 1; --i) {
    if (i == channel_axis) continue;
    if (shape[i] != 1 && b.strides[i] != stride) return false;
    stride *= shape[i];
    rows *= shape[i];
  }
  const std::int64_t groups = d.padded_dims[channel_axis] / inner;
  if (groups != 1 && b.strides[channel_axis] != stride) return false;
  stride *= groups;
  if (shape[0] != 1 && b.strides[0] != stride) return false;
  view = {shape[0], groups, rows, inner, shape[channel_axis]};
  return true;
}

}  // namespace belfry
