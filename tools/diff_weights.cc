#include "tools/diff_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "belfry/array/internal/dispatch.h"
#include "belfry/base/parallel.h"
#include "tools/json_output.h"
#include "tools/text_table.h"
#include "tools/weights.h"

namespace belfry::tools {
namespace {

constexpr std::int64_t kPiece = 65536;

struct Difference {
  std::int64_t elements = 0;  // that differ
  double absolute = 0, relative = 0;

  void add(const Difference& other) {
    elements += other.elements;
    absolute = std::max(absolute, other.absolute);
    relative = std::max(relative, other.relative);
  }
};

// How far apart two different values are; infinitely, if one is NaN, or if they are infinite.
template <class T>
Difference between(T a, T b) {
  const auto x = static_cast<double>(a), y = static_cast<double>(b);
  const double distance = std::abs(x - y);
  if (!std::isfinite(distance)) return {1, HUGE_VAL, HUGE_VAL};
  return {1, distance, distance / std::max(std::abs(x), std::abs(y))};
}

template <class T>
bool is_same(T a, T b) {
  return a == b || (a != a && b != b);
}

Difference difference_of(const Array& a, const Array& b, std::int64_t begin, std::int64_t end) {
  Difference out;
  const std::size_t width = size_of(a.dtype());
  const auto at = static_cast<std::size_t>(begin) * width;
  const auto* x = static_cast<const std::byte*>(a.raw()) + at;
  const auto* y = static_cast<const std::byte*>(b.raw()) + at;
  if (std::memcmp(x, y, static_cast<std::size_t>(end - begin) * width) == 0) return out;
  dispatch(a.dtype(), [&]<class T>() {
    const auto left = a.values<T>(), right = b.values<T>();
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i)
      if (!is_same(left[i], right[i])) out.add(between(left[i], right[i]));
  });
  return out;
}

// Of two arrays of the same dtype and shape.
Difference difference_of(const Array& a, const Array& b) {
  const std::int64_t pieces = (a.elements() + kPiece - 1) / kPiece;
  std::vector<Difference> found(static_cast<std::size_t>(pieces));
  parallel_for(pieces, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      found[static_cast<std::size_t>(i)] = difference_of(a, b, i * kPiece, std::min((i + 1) * kPiece, a.elements()));
  });
  Difference out;
  for (const Difference& d : found) out.add(d);
  return out;
}

struct Comparison {
  std::vector<std::string> only_first{}, only_second{};
  struct Pair {
    std::string name;
    const Array *first = nullptr, *second = nullptr;
    Difference difference{};
  };
  std::vector<Pair> other_type{}, other_values{};
  std::int64_t equal = 0;

  bool is_same() const {
    return only_first.empty() && only_second.empty() && other_type.empty() && other_values.empty();
  }
};

Comparison compare(const Weights& a, const Weights& b) {
  const TeamScope team(hardware_threads());
  Comparison out;
  for (const auto& [name, first] : a.tensors) {
    const auto at = b.tensors.find(name);
    if (at == b.tensors.end()) {
      out.only_first.push_back(name);
      continue;
    }
    const Array& second = at->second;
    const Comparison::Pair pair{name, &first, &second};
    if (first.dtype() != second.dtype() || first.shape() != second.shape()) {
      out.other_type.push_back(pair);
    } else if (const Difference difference = difference_of(first, second); difference.elements > 0) {
      out.other_values.push_back(pair);
      out.other_values.back().difference = difference;
    } else {
      ++out.equal;
    }
  }
  for (const auto& [name, array] : b.tensors)
    if (!a.tensors.contains(name)) out.only_second.push_back(name);
  return out;
}

std::string type_text(const Array& array) {
  return fmt::format("{} {}", belfry::name_of(array.dtype()), to_string(array.shape()));
}

void print_names(const std::vector<std::string>& names, const std::string& path) {
  if (names.empty()) return;
  fmt::print("only in {}:\n", path);
  for (const std::string& name : names) fmt::print("  {}\n", name);
}

void print_text(const Comparison& found, const Weights& a, const Weights& b) {
  if (a.state && b.state && state_text(a) != state_text(b))
    fmt::print("{}: {}\n{}: {}\n", a.path, state_text(a), b.path, state_text(b));
  print_names(found.only_first, a.path);
  print_names(found.only_second, b.path);
  using enum Align;
  if (!found.other_type.empty()) {
    std::vector<std::vector<std::string>> rows;
    for (const auto& pair : found.other_type)
      rows.push_back({pair.name, type_text(*pair.first), type_text(*pair.second)});
    fmt::print("other shape or dtype:\n{}", text_table({left, left, left}, rows, "  "));
  }
  if (!found.other_values.empty()) {
    std::vector<std::vector<std::string>> rows{{"name", "elements", "of", "largest difference", "relative"}};
    for (const auto& [name, first, second, difference] : found.other_values)
      rows.push_back({name, std::to_string(difference.elements), std::to_string(first->elements()),
                      number_text(difference.absolute), number_text(difference.relative)});
    fmt::print("other values:\n{}", text_table({left, right, right, right, right}, rows, "  "));
  }
  fmt::print("{} equal, {} with other values, {} of another shape or dtype, {} only in one\n", found.equal,
             found.other_values.size(), found.other_type.size(), found.only_first.size() + found.only_second.size());
}

void print_as_json(const Comparison& found, const Weights& a, const Weights& b) {
  Json out{{"first", a.path}, {"second", b.path}, {"same", found.is_same()}, {"equal", found.equal}};
  out["only_in_first"] = found.only_first;
  out["only_in_second"] = found.only_second;
  out["other_type"] = Json::array();
  for (const auto& pair : found.other_type)
    out["other_type"].push_back(
        {{"name", pair.name}, {"first", type_text(*pair.first)}, {"second", type_text(*pair.second)}});
  out["other_values"] = Json::array();
  for (const auto& [name, first, second, difference] : found.other_values)
    out["other_values"].push_back({{"name", name},
                                   {"elements", difference.elements},
                                   {"of", first->elements()},
                                   {"absolute", json_number(difference.absolute)},
                                   {"relative", json_number(difference.relative)}});
  print_json(out);
}

}  // namespace

bool diff_weights(const DiffOptions& options) {
  const Weights a = read_weights(options.first), b = read_weights(options.second);
  const Comparison found = compare(a, b);
  options.json ? print_as_json(found, a, b) : print_text(found, a, b);
  return found.is_same();
}

}  // namespace belfry::tools
