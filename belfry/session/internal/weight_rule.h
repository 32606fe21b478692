// How a value of another program becomes a variable's, and back.
//
//   as is                 unchanged
//   transpose 1 0         axis k of ours is that axis of theirs
//   linear, oiw, oihw     PyTorch's weights: transpose 1 0, transpose 2 1 0, transpose 2 3 1 0
//   reshape 3 3 8 2       theirs has this shape, ours that of the variable; without numbers, whatever theirs has
//   gates 1 0 2           the last axis holds so many gates; gate k of ours is that one of theirs
//   forget_bias 1         is added to the second of four gates (of ours)
//   chw 32x7x7            the rows are images, which are flattened channel by channel there and pixel by pixel here
//   part 0/3              theirs is the first of 3 parts of ours, along the last axis
//   sum                   ours is the sum of several values of theirs
//   stack                 a value for several variables has an axis in front, which numbers them
//
// Several of them, separated by commas, act one after the other.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "belfry/array/array.h"

namespace belfry {

class WeightRule {
 public:
  WeightRule() = default;
  // `where` begins the text of an error.
  static WeightRule parse(std::string_view text, const std::string& where);

  struct Part {
    std::int64_t index = 0, count = 1;
  };
  const std::optional<Part>& part() const { return part_; }
  bool is_sum() const { return sum_; }
  bool is_stack() const { return stack_; }
  bool reorders_images() const;
  // chw, part, sum and stack are added to the layout's rule; the others replace it.
  bool replaces_layout() const { return replaces_layout_; }
  bool is_empty() const { return steps_.empty() && !part_ && !sum_ && !stack_; }
  // First this one, then `more`.
  WeightRule then(const WeightRule& more) const;
  const std::string& text() const { return text_; }

  // Throws Error with a text for the end of a sentence ("expected ..., got ..."). `wanted` is the shape of the result
  // as far as the variable tells: unknown for a value that is divided between variables.
  Array to_ours(const Array& theirs, const std::optional<Shape>& wanted) const;
  Array to_theirs(const Array& ours) const;

 private:
  enum class Kind : std::uint8_t { transpose, reshape, gates, forget_bias, chw };
  struct Step {
    Kind kind;
    std::vector<std::int64_t> numbers{};
    double bias = 0;
  };
  void add(std::string_view step, const std::string& where);
  static Array forward(const Step& step, const Array& value, const std::optional<Shape>& wanted);
  static Array backward(const Step& step, const Array& value);

  std::string text_;
  std::vector<Step> steps_;
  std::optional<Part> part_;
  bool sum_ = false, stack_ = false, replaces_layout_ = false;
};

}  // namespace belfry
