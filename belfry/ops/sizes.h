// Sizes that may be known only in a run: of a shape, of a box, or places along axes. A list of numbers and integer
// scalars of the graph, or one vector of integers:
//
//   Tensor z = random_normal({size_of(x, 0), 20});      // as many rows as x has
//   Tensor e = random_normal(shape_of(mean));
//   Tensor y = reshape(x, {size_of(x, 0), 7, -1});
//
// What follows from shapes is known when a step is planned and costs nothing when it runs. Where a size depends on
// data, the run is cut, and what comes after is planned for each size that occurs (kept like other plans).
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

#include "belfry/graph/attributes.h"
#include "belfry/graph/tensor.h"

#pragma GCC visibility push(default)
namespace belfry {

// The sizes of x's dimensions in this step, i64 [rank]. Does not keep x alive.
Tensor shape_of(const Operand& x, std::string_view name = "");
// One of them, i64 [].
Tensor size_of(const Operand& x, int axis, std::string_view name = "");

// A number, or an i32 or i64 scalar.
class Size {
 public:
  template <std::integral Number>
  Size(Number number) : number_(static_cast<std::int64_t>(number)) {}  // NOLINT(google-explicit-constructor)
  Size(const Tensor& scalar) : scalar_(scalar) {}                      // NOLINT(google-explicit-constructor)

  bool is_number() const { return !scalar_; }
  std::int64_t number() const { return number_; }
  const Tensor& scalar() const { return scalar_; }

 private:
  std::int64_t number_ = 0;
  Tensor scalar_;
};

class Sizes {
 public:
  Sizes() = default;                                            // of a scalar: none
  Sizes(std::initializer_list<Size> sizes) : sizes_(sizes) {}   // NOLINT(google-explicit-constructor)
  Sizes(std::vector<Size> sizes) : sizes_(std::move(sizes)) {}  // NOLINT(google-explicit-constructor)
  Sizes(const Shape& shape);                                    // NOLINT(google-explicit-constructor)
  Sizes(const Ints& numbers);                                   // NOLINT(google-explicit-constructor)
  Sizes(const Tensor& vector) : vector_(vector) {}              // NOLINT(google-explicit-constructor): i32 or i64 [n]

  // The sizes, if all are numbers.
  std::optional<Ints> numbers() const;
  // The sizes as listed; empty if they are given as a vector.
  const std::vector<Size>& listed() const { return sizes_; }
  // i64 [n]; `op` is the one that asks, for errors.
  Tensor tensor(std::string_view op) const;

 private:
  std::vector<Size> sizes_;
  Tensor vector_;
};

}  // namespace belfry
#pragma GCC visibility pop
