#include "belfry/ops/known_ints.h"

#include <algorithm>

namespace belfry {

KnownInts same_ints(const ShapeContext& c) { return c.ints(0); }

KnownInts combined_ints(const ShapeContext& c, IntFunction function) {
  const KnownInts &a = c.ints(0), &b = c.ints(1);
  const std::size_t size = std::max(a.size(), b.size());
  if (a.empty() || b.empty() || (a.size() != size && a.size() != 1) || (b.size() != size && b.size() != 1)) return {};
  KnownInts out(size);
  for (std::size_t i = 0; i < size; ++i) {
    const auto x = a[a.size() == 1 ? 0 : i], y = b[b.size() == 1 ? 0 : i];
    if (x && y) out[i] = function(*x, *y);
  }
  return out;
}

}  // namespace belfry
