#include "belfry/ops/conv1d.h"

#include "belfry/base/check.h"
#include "belfry/graph/location.h"
#include "belfry/ops/array_ops.h"
#include "belfry/ops/conv.h"

namespace belfry {
namespace {

void check_ranks(const Tensor& x, const Tensor& filter, const Location& where) {
  BELFRY_CHECK(x.rank() == 3, "[conv1d] expected an input of rank 3 (batch, length, channels), got {} (at {})",
               to_string(x.shape()), to_string(where));
  BELFRY_CHECK(filter.rank() == 3,
               "[conv1d] expected a filter of rank 3 (length, channels in / groups, channels out), got {} (at {})",
               to_string(filter.shape()), to_string(where));
}

}  // namespace

Tensor conv1d(const Operand& x, const Operand& filter, const Conv1dOptions& options, std::string_view name) {
  check_ranks(x.tensor(), filter.tensor(), current_location(x.where()));
  const int height = options.data_format == DataFormat::channels_last ? 1 : 2;
  const Tensor image = expand_dims(x, height);
  const Tensor y = conv2d(Operand(image, x.where()), expand_dims(filter, 0),
                          {.strides = {1, options.stride},
                           .dilations = {1, options.dilation},
                           .padding = options.padding,
                           .groups = options.groups,
                           .data_format = options.data_format});
  return squeeze(Operand(y, x.where()), {height}, name);
}

}  // namespace belfry
