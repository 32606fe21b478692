#include "belfry/ops/internal/channels.h"

#include "belfry/base/check.h"
#include "belfry/ops/array_ops.h"
#include "belfry/ops/internal/input_checks.h"
#include "belfry/ops/pointwise.h"
#include "belfry/ops/reduce.h"

namespace belfry {

Tensor Channels::spread(const Tensor& vector) const {
  if (axis_ == x_.rank() - 1) return vector;
  Shape shape{vector.shape()[0]};
  while (shape.rank() < x_.rank() - axis_) shape.push_back(1);
  return reshape(vector, shape);
}

Tensor Channels::sum(const Tensor& t) const {
  Ints axes;
  for (int i = 0; i < x_.rank(); ++i)
    if (i != axis_) axes.push_back(i);
  return axes.empty() ? t : reduce_sum(t, {.axes = axes});
}

Tensor Channels::count() const { return maximum(sum(ones_like(x_)), 1.f); }

std::int64_t check_channels(const ShapeContext& c, int at, std::initializer_list<int> vectors) {
  const Shape& x = c.input(at);
  const auto axis = static_cast<int>(c.attributes().integer("axis"));
  check_one_float_type(c);
  BELFRY_CHECK(axis >= 0 && axis < x.rank(), "expected the channels' axis within {}, got {}", to_string(x), axis);
  Shape channels{x[axis]};
  for (int i : vectors) {
    BELFRY_CHECK(compatible(c.input(i), channels),
                 "expected vectors of one number for each channel (axis {} of {}), got {} for input {}", axis,
                 to_string(x), to_string(c.input(i)), i);
    channels = merge(c.input(i), channels);
  }
  return channels[0];
}

}  // namespace belfry
