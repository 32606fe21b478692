#include "belfry/session/internal/weight_rule.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <numeric>
#include <utility>

#include "belfry/base/check.h"
#include "belfry/base/internal/nearest.h"
#include "belfry/base/internal/quotes.h"
#include "belfry/session/internal/array_axes.h"
#include "belfry/session/internal/trimmed.h"

namespace belfry {
namespace {

using Numbers = std::vector<std::int64_t>;

constexpr std::size_t kForgetGate = 1, kLstmGates = 4;
// [C, H, W, rest] <-> [H, W, C, rest]
constexpr std::array<std::int64_t, 4> kPixelsFirst{1, 2, 0, 3}, kChannelsFirst{2, 0, 1, 3};

const std::map<std::string_view, Numbers> kAxesOfPytorch{
    {"linear", {1, 0}}, {"oiw", {2, 1, 0}}, {"oihw", {2, 3, 1, 0}}};
const std::vector<std::string> kWords{"as is", "transpose",   "linear", "oiw",  "oihw", "reshape",
                                      "gates", "forget_bias", "chw",    "part", "sum",  "stack"};

// The whole text as numbers >= 0 with `separator` between them; none if it is anything else.
std::optional<Numbers> numbers_in(std::string_view text, char separator) {
  Numbers out;
  while (!text.empty()) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || number < 0 || number > (std::int64_t{1} << 40)) return std::nullopt;
    out.push_back(number);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.empty()) break;
    if (text.front() != separator) return std::nullopt;
    text = separator == ' ' ? trimmed(text) : text.substr(1);
    if (text.empty()) return std::nullopt;
  }
  return out;
}

bool is_permutation(const Numbers& numbers) {
  Numbers all(numbers.size());
  std::iota(all.begin(), all.end(), 0);
  return std::ranges::is_permutation(numbers, all);
}

Numbers inverse_of(const Numbers& order) {
  Numbers out(order.size());
  for (std::size_t k = 0; k < order.size(); ++k) out[static_cast<std::size_t>(order[k])] = static_cast<std::int64_t>(k);
  return out;
}

Array transposed_by(const Array& value, const Numbers& axes) {
  BELFRY_CHECK(value.shape().rank() == std::ssize(axes), "expected {} axes for 'transpose {}', got {}", axes.size(),
               fmt::join(axes, " "), to_string(value.shape()));
  return transposed(value, axes);
}

Array gates_by(const Array& value, const Numbers& order) {
  const Shape& shape = value.shape();
  BELFRY_CHECK(shape.rank() > 0 && shape[-1] % std::ssize(order) == 0,
               "expected a last axis that divides into {} gates, got {}", order.size(), to_string(shape));
  return with_blocks_in_order(value, order);
}

Array with_forget_bias(const Array& value, double bias) {
  const Shape& shape = value.shape();
  BELFRY_CHECK(shape.rank() == 1 && shape[0] % static_cast<std::int64_t>(kLstmGates) == 0 && is_float(value.dtype()),
               "expected the bias of four gates, got {} {}", name_of(value.dtype()), to_string(shape));
  Array out = value.clone();
  const std::int64_t units = shape[0] / static_cast<std::int64_t>(kLstmGates);
  const std::int64_t first = units * static_cast<std::int64_t>(kForgetGate);
  for (std::int64_t i = first; i < first + units; ++i) out.set_item(i, out.item(i) + bias);
  return out;
}

// Rows from one order of an image's elements to the other; `image` in the order they have.
Array with_rows_in_order(const Array& value, const Numbers& image, std::span<const std::int64_t> axes) {
  const Shape& shape = value.shape();
  const std::int64_t rows = image[0] * image[1] * image[2];
  BELFRY_CHECK(shape.rank() > 0 && shape[0] == rows, "expected {} rows for images of {} elements, got {}", rows, rows,
               to_string(shape));
  const std::int64_t rest = rows == 0 ? 0 : value.elements() / rows;
  return transposed(value.reshaped({image[0], image[1], image[2], rest}), axes).reshaped(shape);
}

Array in_shape(const Array& value, const Shape& shape) {
  BELFRY_CHECK(value.elements() == shape.elements(), "expected {} elements for {}, got {}", shape.elements(),
               to_string(shape), to_string(value.shape()));
  return value.reshaped(shape);
}

}  // namespace

WeightRule WeightRule::parse(std::string_view text, const std::string& where) {
  WeightRule out;
  out.text_ = trimmed(text);
  for (std::string_view rest = out.text_; !rest.empty();) {
    const std::size_t comma = rest.find(',');
    out.add(trimmed(rest.substr(0, comma)), where);
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
    BELFRY_CHECK(!trimmed(rest).empty(), "{} expected a rule after the last comma of \"{}\", got none.", where,
                 out.text_);
  }
  BELFRY_CHECK(!out.part_ || !out.sum_, "{} expected either part or sum, got \"{}\".", where, out.text_);
  return out;
}

void WeightRule::add(std::string_view step, const std::string& where) {
  const std::size_t blank = step.find(' ');
  const std::string_view word = step.substr(0, blank);
  const std::string_view rest = blank == std::string_view::npos ? "" : trimmed(step.substr(blank));
  const auto expected = [&](bool holds, std::string_view what) {
    BELFRY_CHECK(holds, "{} expected {}, got \"{}\".", where, what, step);
  };
  const auto replace = [&](Kind kind, Numbers numbers) {
    replaces_layout_ = true;
    steps_.push_back({.kind = kind, .numbers = std::move(numbers)});
  };
  if (word == "as") {
    expected(step == "as is", "\"as is\"");
    replaces_layout_ = true;
  } else if (word == "transpose") {
    const std::optional<Numbers> axes = numbers_in(rest, ' ');
    expected(axes && !axes->empty() && std::ssize(*axes) <= kMaxRank && is_permutation(*axes),
             "transpose with every axis once, as in \"transpose 1 0\"");
    replace(Kind::transpose, *axes);
  } else if (const auto named = kAxesOfPytorch.find(word); named != kAxesOfPytorch.end()) {
    expected(rest.empty(), fmt::format("\"{}\" alone", word));
    replace(Kind::transpose, named->second);
  } else if (word == "reshape") {
    const std::optional<Numbers> shape = numbers_in(rest, ' ');
    expected(shape && std::ssize(*shape) <= kMaxRank && (rest.empty() || checked_bytes(DType::f64, Shape(*shape))),
             "reshape with their shape or nothing, as in \"reshape 3 3 8 2\"");
    replace(Kind::reshape, *shape);
  } else if (word == "gates") {
    const std::optional<Numbers> order = numbers_in(rest, ' ');
    expected(order && order->size() > 1 && is_permutation(*order), "gates with every gate once, as in \"gates 1 0 2\"");
    replace(Kind::gates, *order);
  } else if (word == "forget_bias") {
    double bias = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), bias);
    expected(!rest.empty() && error == std::errc() && end == rest.data() + rest.size(),
             "forget_bias with a number, as in \"forget_bias 1\"");
    replaces_layout_ = true;
    steps_.push_back({.kind = Kind::forget_bias, .bias = bias});
  } else if (word == "chw") {
    const std::optional<Numbers> image = numbers_in(rest, 'x');
    expected(image && image->size() == 3 && checked_bytes(DType::f64, Shape(*image)),
             "chw with channels, height and width, as in \"chw 32x7x7\"");
    steps_.push_back({.kind = Kind::chw, .numbers = *image});
  } else if (word == "part") {
    const std::optional<Numbers> part = numbers_in(rest, '/');
    expected(!part_ && part && part->size() == 2 && (*part)[0] < (*part)[1] && (*part)[1] <= 1000,
             "part with its number, from 0, and how many there are, as in \"part 0/3\"");
    part_ = Part{(*part)[0], (*part)[1]};
  } else if (step == "sum") {
    sum_ = true;
  } else if (step == "stack") {
    stack_ = true;
  } else {
    fail("{} expected a rule of {}, got \"{}\".{}", where, fmt::join(kWords, ", "), step,
         did_you_mean(std::string(word), kWords));
  }
}

WeightRule WeightRule::then(const WeightRule& more) const {
  WeightRule out = *this;
  out.steps_.insert(out.steps_.end(), more.steps_.begin(), more.steps_.end());
  if (more.part_) out.part_ = more.part_;
  out.sum_ = (sum_ && !out.part_) || more.sum_;
  out.stack_ = stack_ || more.stack_;
  out.replaces_layout_ = replaces_layout_ || more.replaces_layout_;
  if (!more.text_.empty()) out.text_ = text_.empty() ? more.text_ : fmt::format("{}, {}", text_, more.text_);
  return out;
}

bool WeightRule::reorders_images() const {
  return std::ranges::any_of(steps_, [](const Step& step) { return step.kind == Kind::chw; });
}

Array WeightRule::forward(const Step& step, const Array& value, const std::optional<Shape>& wanted) {
  switch (step.kind) {
    case Kind::transpose: return transposed_by(value, step.numbers);
    case Kind::gates: return gates_by(value, step.numbers);
    case Kind::forget_bias: return with_forget_bias(value, step.bias);
    case Kind::chw: return with_rows_in_order(value, step.numbers, kPixelsFirst);
    case Kind::reshape: break;
  }
  if (!step.numbers.empty()) {
    const Shape theirs{std::span<const std::int64_t>(step.numbers)};
    BELFRY_CHECK(value.shape() == theirs, "expected {} for 'reshape', got {}", to_string(theirs),
                 to_string(value.shape()));
  }
  BELFRY_CHECK(wanted.has_value(), "expected one variable for 'reshape', got several");
  return in_shape(value, *wanted);
}

Array WeightRule::backward(const Step& step, const Array& value) {
  switch (step.kind) {
    case Kind::transpose: return transposed_by(value, inverse_of(step.numbers));
    case Kind::gates: return gates_by(value, inverse_of(step.numbers));
    case Kind::forget_bias: return with_forget_bias(value, -step.bias);
    case Kind::chw:
      return with_rows_in_order(value, {step.numbers[1], step.numbers[2], step.numbers[0]}, kChannelsFirst);
    case Kind::reshape: break;
  }
  BELFRY_CHECK(!step.numbers.empty(), "expected 'reshape' with their shape, which is unknown here, got none");
  return in_shape(value, Shape(std::span<const std::int64_t>(step.numbers)));
}

Array WeightRule::to_ours(const Array& theirs, const std::optional<Shape>& wanted) const {
  Array out = theirs;
  for (const Step& step : steps_) out = forward(step, out, wanted);
  return out;
}

Array WeightRule::to_theirs(const Array& ours) const {
  Array out = ours;
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) out = backward(*step, out);
  return out;
}

}  // namespace belfry
