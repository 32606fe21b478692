#include "belfry/array/shape.h"

#include <algorithm>

#include "belfry/base/check.h"

namespace belfry {

Shape::Shape(std::initializer_list<std::int64_t> dims) : Shape(std::span(dims.begin(), dims.size())) {}

Shape::Shape(std::span<const std::int64_t> dims) {
  for (std::int64_t d : dims) push_back(d);
}

void Shape::push_back(std::int64_t size) {
  BELFRY_CHECK(rank_ < kMaxRank, "[shape] expected at most {} dimensions, got more after {}", kMaxRank,
               to_string(*this));
  BELFRY_CHECK(size >= kAny, "[shape] expected a size of 0 or more, or kAny, got {}", size);
  dims_[static_cast<std::size_t>(rank_++)] = size;
}

bool Shape::is_concrete() const {
  return std::all_of(begin(), end(), [](std::int64_t d) { return d != kAny; });
}

std::int64_t Shape::elements() const {
  std::int64_t n = 1;
  for (std::int64_t d : dims()) {
    if (d == kAny) return kAny;
    BELFRY_CHECK(!__builtin_mul_overflow(n, d, &n), "[shape] expected fewer than 2^63 elements, got {}.",
                 to_string(*this));
  }
  return n;
}

Shape Shape::slice(int first, int last) const {
  return Shape(dims().subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(last - first)));
}

Shape Shape::without(int axis) const {
  Shape out;
  for (int i = 0; i < rank_; ++i)
    if (i != axis) out.push_back(dim(i));
  return out;
}

bool Shape::operator==(const Shape& other) const { return std::ranges::equal(dims(), other.dims()); }

bool compatible(const Shape& a, const Shape& b) {
  return std::ranges::equal(a.dims(), b.dims(),
                            [](std::int64_t x, std::int64_t y) { return x == y || x == kAny || y == kAny; });
}

Shape merge(const Shape& a, const Shape& b) {
  BELFRY_CHECK(compatible(a, b), "[shape] expected equal shapes, got {} and {}", to_string(a), to_string(b));
  Shape out;
  for (int i = 0; i < a.rank(); ++i) out.push_back(a[i] == kAny ? b[i] : a[i]);
  return out;
}

Shape broadcast(const Shape& a, const Shape& b) {
  const int rank = std::max(a.rank(), b.rank());
  Shape out;
  for (int i = 0; i < rank; ++i) {
    const int ia = i - (rank - a.rank()), ib = i - (rank - b.rank());
    const std::int64_t da = ia < 0 ? 1 : a[ia], db = ib < 0 ? 1 : b[ib];
    BELFRY_CHECK(da == db || da == 1 || db == 1 || da == kAny || db == kAny,
                 "expected dimensions that are equal or 1, got {} and {} ({} and {} in dimension {}). Use reshape() or "
                 "expand_dims() to say which ones belong together",
                 to_string(a), to_string(b), da, db, i - rank);
    // An unknown size against a known one that is not 1 can only be that size (or 1).
    out.push_back(da == 1 ? db : db == 1 ? da : da == kAny ? db : da);
  }
  return out;
}

std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (int i = 0; i < shape.rank(); ++i) {
    if (i > 0) text += ", ";
    text += shape[i] == kAny ? "?" : std::to_string(shape[i]);
  }
  return text + "]";
}

int normalize_axis(int axis, int rank, const char* where) {
  BELFRY_CHECK(axis >= -rank && axis < rank, "[{}] expected an axis in [{}, {}), got {}", where, -rank, rank, axis);
  return axis < 0 ? axis + rank : axis;
}

}  // namespace belfry
