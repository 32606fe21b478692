#include "belfry/ops/internal/axes.h"

#include <algorithm>

#include "belfry/base/check.h"

namespace belfry {

std::int64_t normalize_axis(const Operand& x, std::int64_t axis, int rank, const char* op) {
  const Tensor t = x.tensor();
  BELFRY_CHECK(axis >= -rank && axis < rank,
               "[{}] expected an axis in [{}, {}), got {}. Input: '{}' {} {} (made at {})", op, -rank, rank, axis,
               t.name(), name_of(t.dtype()), to_string(t.shape()), to_string(current_location(x.where())));
  return axis < 0 ? axis + rank : axis;
}

Ints normalize_axes(const Operand& x, const Ints& axes, int rank, const char* op) {
  Ints out;
  for (std::int64_t axis : axes) out.push_back(normalize_axis(x, axis, rank, op));
  std::ranges::sort(out);
  const auto twice = std::ranges::adjacent_find(out);
  BELFRY_CHECK(twice == out.end(), "[{}] expected every axis once, got axis {} twice. Input: '{}' {} (made at {})", op,
               *twice, x.tensor().name(), to_string(x.tensor().shape()), to_string(current_location(x.where())));
  return out;
}

}  // namespace belfry
