#include "belfry/engine/cpu/conv/dnnl_groups.h"

#include <oneapi/dnnl/dnnl.h>

#include "belfry/engine/cpu/dnnl/dnnl_check.h"

namespace belfry {

bool merge_groups(const dnnl_memory_desc_t& grouped, dnnl_memory_desc_t& merged) {
  if (grouped.format_kind != dnnl_blocked) return false;
  const dnnl_blocking_desc_t& from = grouped.format_desc.blocking;
  std::int64_t block_g = 1, block_o = 1;
  for (int i = 0; i < from.inner_nblks; ++i) {
    if (from.inner_idxs[i] == 0) block_g *= from.inner_blks[i];
    if (from.inner_idxs[i] == 1) block_o *= from.inner_blks[i];
  }
  // Either blocks of groups of one output each (depthwise), or whole blocks of outputs in each group.
  const std::int64_t blocks = grouped.padded_dims[1] / block_o;
  if (block_g > 1 ? grouped.padded_dims[1] != 1 : grouped.padded_dims[1] != grouped.dims[1]) return false;
  if (blocks > 1 && from.strides[0] != blocks * from.strides[1]) return false;

  const dnnl_dims_t dims{grouped.dims[0] * grouped.dims[1], grouped.dims[2], grouped.dims[3], grouped.dims[4]};
  dnnl_check(dnnl_memory_desc_init_by_tag(&merged, 4, dims, dnnl_f32, dnnl_abcd), "merged weights");
  dnnl_blocking_desc_t& to = merged.format_desc.blocking;
  merged.padded_dims[0] = grouped.padded_dims[0] * grouped.padded_dims[1];
  to.strides[0] = blocks > 1 ? from.strides[1] : from.strides[0];
  for (int i = 1; i < 4; ++i) {
    merged.padded_dims[i] = grouped.padded_dims[i + 1];
    to.strides[i] = from.strides[i + 1];
  }
  to.inner_nblks = from.inner_nblks;
  for (int i = 0; i < from.inner_nblks; ++i) {
    to.inner_blks[i] = from.inner_blks[i];
    to.inner_idxs[i] = from.inner_idxs[i] == 0 ? 0 : from.inner_idxs[i] - 1;
  }
  return true;
}

dnnl_memory_desc_t plain_grouped_filter(const ConvGeometry& g) {
  const dnnl_dims_t dims{g.groups, g.o / g.groups, g.c / g.groups, g.kh, g.kw};
  dnnl_memory_desc_t out;
  dnnl_check(dnnl_memory_desc_init_by_tag(&out, 5, dims, dnnl_f32, dnnl_hwigo), "grouped weights");
  return out;
}

}  // namespace belfry
