// The one size of a new shape that follows from the others. Shared by the op and its kernel.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>

#include "belfry/array/shape.h"

namespace belfry {

// The size that is kAny: the number of elements of x divided by the other sizes; none if they do not divide it. For an
// empty x, sizes of 0 cancel with its own: [0, 8] gives 2 for {0, 4, kAny}, as [3, 8] does for {3, 4, kAny}.
inline std::optional<std::int64_t> left_over(const Shape& x, std::span<const std::int64_t> sizes) {
  if (std::ranges::count(sizes, kAny) != 1) return {};
  const bool cancel = std::ranges::count(x.dims(), 0) == std::ranges::count(sizes, 0);
  std::int64_t elements = 1, others = 1;
  for (std::int64_t size : x.dims())
    if (size != 0 || !cancel) elements *= size;
  for (std::int64_t size : sizes)
    if (size != kAny && (size != 0 || !cancel) && __builtin_mul_overflow(others, size, &others)) return {};
  return others > 0 && elements % others == 0 ? std::optional(elements / others) : std::nullopt;
}

}  // namespace belfry
