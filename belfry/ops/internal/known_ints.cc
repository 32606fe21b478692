#include "belfry/ops/internal/known_ints.h"

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

KnownInts folded_ints(const ShapeContext& c, IntFunction function, std::int64_t start) {
  const Shape& x = c.input(0);
  if (x.rank() != 1 || x[0] != static_cast<std::int64_t>(c.ints(0).size())) return {};
  KnownInt out = start;
  for (const KnownInt& element : c.ints(0)) out = out && element ? function(*out, *element) : std::nullopt;
  return {out};
}

KnownInts picked_ints(const ShapeContext& c, std::int64_t first, std::int64_t count, std::int64_t step) {
  if (c.input(0).rank() != 1 || c.ints(0).empty()) return {};
  KnownInts out;
  for (std::int64_t i = 0; i < count; ++i) out.push_back(c.ints(0)[static_cast<std::size_t>(first + i * step)]);
  return out;
}

KnownInt int_sum(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  return __builtin_add_overflow(a, b, &out) ? KnownInt() : KnownInt(out);
}
KnownInt int_difference(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  return __builtin_sub_overflow(a, b, &out) ? KnownInt() : KnownInt(out);
}
KnownInt int_product(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  return __builtin_mul_overflow(a, b, &out) ? KnownInt() : KnownInt(out);
}
KnownInt int_quotient(std::int64_t a, std::int64_t b) { return b == 0 || b == -1 ? KnownInt() : KnownInt(a / b); }
KnownInt int_floordiv(std::int64_t a, std::int64_t b) {
  if (b == 0 || b == -1) return {};
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}
KnownInt int_floormod(std::int64_t a, std::int64_t b) {
  if (b == 0 || b == -1) return {};
  return a - *int_floordiv(a, b) * b;
}
KnownInt int_maximum(std::int64_t a, std::int64_t b) { return std::max(a, b); }
KnownInt int_minimum(std::int64_t a, std::int64_t b) { return std::min(a, b); }

}  // namespace belfry
