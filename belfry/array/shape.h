// A shape: a known number of dimensions, each known or kAny. Held inline, so copying one never allocates.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#pragma GCC visibility push(default)
namespace belfry {

inline constexpr std::int64_t kAny = -1;  // a dimension that is not known until a step is fed
inline constexpr int kMaxRank = 8;

class Shape {
 public:
  Shape() = default;  // a scalar
  Shape(std::initializer_list<std::int64_t> dims);
  explicit Shape(std::span<const std::int64_t> dims);

  int rank() const { return rank_; }
  // Axes may be negative, counted from the end.
  std::int64_t dim(int axis) const { return dims_[static_cast<std::size_t>(axis < 0 ? axis + rank_ : axis)]; }
  std::int64_t operator[](int axis) const { return dim(axis); }
  void set(int axis, std::int64_t size) { dims_[static_cast<std::size_t>(axis < 0 ? axis + rank_ : axis)] = size; }
  void push_back(std::int64_t size);

  std::span<const std::int64_t> dims() const { return {dims_.data(), static_cast<std::size_t>(rank_)}; }
  const std::int64_t* begin() const { return dims_.data(); }
  const std::int64_t* end() const { return dims_.data() + rank_; }

  bool is_concrete() const;       // no kAny
  std::int64_t elements() const;  // kAny if not concrete; 1 for a scalar; throws past 63 bits
  Shape slice(int first, int last) const;
  Shape without(int axis) const;

  bool operator==(const Shape& other) const;

 private:
  std::array<std::int64_t, kMaxRank> dims_{};
  int rank_ = 0;
};

// True if the two could be the same once every kAny is known.
bool compatible(const Shape& a, const Shape& b);
// What is known of a shape that must be both; throws if they are not compatible.
Shape merge(const Shape& a, const Shape& b);
// NumPy's broadcasting; unknown dimensions stay unknown unless the other side decides them. Throws if impossible
// (without "[where]": that is the op's to say).
Shape broadcast(const Shape& a, const Shape& b);
std::string to_string(const Shape& shape);  // "[?, 28, 28, 1]"

// A negative axis counted from the end becomes positive; out of range throws "[where] ...".
int normalize_axis(int axis, int rank, const char* where);

}  // namespace belfry
#pragma GCC visibility pop
