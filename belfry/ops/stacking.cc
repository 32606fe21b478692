// Joining along a new axis and its reverse: made of concat, split and dimensions of size 1.
#include <algorithm>

#include "belfry/base/check.h"
#include "belfry/graph/graph.h"
#include "belfry/ops/array_ops.h"
#include "belfry/ops/internal/axes.h"

namespace belfry {

Tensor stack(const std::vector<Operand>& tensors, int axis, std::string_view name) {
  BELFRY_CHECK(!tensors.empty(), "[stack] expected at least one tensor, got none");
  const Operand& first = tensors[0];
  const LocationScope location(first.where());
  const auto typed = std::ranges::find_if_not(tensors, &Operand::is_number);  // a number takes its type
  const DType dtype = typed == tensors.end() ? DType::f32 : typed->tensor().dtype();
  const Shape shape = first.tensor(dtype).shape();
  const std::int64_t positive = normalize_axis(first, axis, shape.rank() + 1, "stack");
  Tensors expanded;
  for (const Operand& given : tensors) {
    const Tensor t = given.tensor(dtype);
    BELFRY_CHECK(compatible(t.shape(), shape), "[stack] expected tensors of one shape, got {} and {} (made at {})",
                 to_string(shape), to_string(t.shape()), to_string(current_location(given.where())));
    expanded.push_back(expand_dims(Operand(t, given.where()), positive));
  }
  return concat(expanded, static_cast<int>(positive), name);
}

Tensors unstack(const Operand& x, int axis, std::string_view name) {
  const LocationScope location(x.where());
  const Tensor t = x.tensor();
  const std::int64_t positive = normalize_axis(x, axis, t.rank(), "unstack"),
                     size = t.shape()[static_cast<int>(positive)];
  BELFRY_CHECK(size != kAny, "[unstack] expected a known size along axis {}, got '{}' {} (made at {})", axis, t.name(),
               to_string(t.shape()), to_string(current_location(x.where())));
  Tensors out;
  if (size == 0) return out;
  for (const Tensor& piece : split(t, size, static_cast<int>(positive), name))
    out.push_back(squeeze(piece, {positive}));
  return out;
}

}  // namespace belfry
