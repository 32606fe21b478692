#include "belfry/engine/cpu/optimizer/weight_copy.h"

namespace belfry {
namespace {

// Weights [kh, kw, in, out] in square tiles of in x out channels.
bool square_tiles(const Layout& layout, int& block) {
  if (layout.plain()) return false;
  const dnnl_memory_desc_t& d = descriptor_in(layout);
  if (d.format_kind != dnnl_blocked || d.ndims != 4) return false;
  const auto& b = d.format_desc.blocking;
  if (b.inner_nblks != 2 || b.inner_blks[0] != b.inner_blks[1] || b.inner_idxs[0] + b.inner_idxs[1] != 5 ||
      b.inner_idxs[0] == b.inner_idxs[1])
    return false;
  block = static_cast<int>(b.inner_blks[0]);
  return (block == 8 || block == 16) && b.inner_idxs[0] >= 2 && b.inner_idxs[1] >= 2;
}

}  // namespace

bool describe_copy(const TensorInfo& variable, const Layout& copy, SecondCopy& out) {
  int block = 0, other = 0;
  if (!square_tiles(variable.layout, block) || !square_tiles(copy, other) || block != other) return false;
  const dnnl_memory_desc_t &from = descriptor_in(variable.layout), &to = descriptor_in(copy);
  const auto &a = from.format_desc.blocking, &b = to.format_desc.blocking;
  const std::int64_t tile = static_cast<std::int64_t>(block) * block, kh = variable.shape[0], kw = variable.shape[1];
  const std::int64_t in = from.padded_dims[2] / block, outs = from.padded_dims[3] / block;
  // The weights' own tiles must lie in the order [out][in][kh][kw].
  const bool ordered = (kw == 1 || a.strides[1] == tile) && (kh == 1 || a.strides[0] == kw * tile) &&
                       (in == 1 || a.strides[2] == kh * kw * tile) &&
                       (outs == 1 || a.strides[3] == in * kh * kw * tile);
  const bool regular = kh == 1 || kw == 1 || b.strides[0] == kw * b.strides[1];
  if (!ordered || !regular) return false;
  const std::int64_t step = kw > 1 ? b.strides[1] : b.strides[0];
  out = {.data = nullptr,
         .outer0 = outs,
         .outer1 = in,
         .spatial = kh * kw,
         .stride0 = b.strides[3] / tile,
         .stride1 = b.strides[2] / tile,
         .stride_spatial = step / tile,
         .block = block,
         .transpose_tile = a.inner_idxs[0] != b.inner_idxs[0]};
  return true;
}

}  // namespace belfry
