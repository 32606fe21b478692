// Sources from anything that can be gone through: a generator, or a range.
//
//   Flow lines = from_generator([](std::uint64_t) {
//     return [file = std::make_shared<std::ifstream>("words.txt")]() -> std::optional<DataPoint> { ... };
//   });
//   Flow numbers = from_range(std::vector<float>{0.5f, 1.5f});
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <ranges>
#include <string>
#include <utility>

#include "belfry/dataflow/sources/function.h"

#pragma GCC visibility push(default)
namespace belfry {

struct GeneratorOptions {
  std::optional<std::int64_t> size{};  // points in a pass, if that is known; checked at its end
  std::string name = "generator";      // in messages and states
};

using Generator = std::function<std::optional<DataPoint>()>;  // the next point; nothing at the end

// Each pass goes through what make(epoch) gives, which must depend on the epoch alone. make() is called with the first
// next() of a pass. A position is (epoch, points given): restoring one makes the generator again and skips that many
// points, so it costs as much as reading them.
Flow from_generator(std::function<Generator(std::uint64_t epoch)> make, GeneratorOptions options = {});

// Something that is a point, or the one component of a point.
template <class T>
concept PointLike = std::convertible_to<T, DataPoint> || std::convertible_to<T, Array>;

template <PointLike T>
DataPoint to_point(T&& value) {
  if constexpr (std::convertible_to<T, DataPoint>)
    return std::forward<T>(value);
  else
    return DataPoint{Array(std::forward<T>(value))};
}

// The elements of a container or view, in every pass. It is kept as it is given: a container by value, a view with
// what it looks at left to the caller. One that can be indexed gives random access.
template <std::ranges::forward_range Range>
  requires PointLike<std::ranges::range_reference_t<const Range>>
Flow from_range(Range range) {
  const auto kept = std::make_shared<const Range>(std::move(range));
  if constexpr (std::ranges::random_access_range<const Range> && std::ranges::sized_range<const Range>) {
    const auto point = [kept](std::int64_t index) -> std::optional<DataPoint> {
      return to_point(std::ranges::begin(*kept)[static_cast<std::ranges::range_difference_t<const Range>>(index)]);
    };
    return from_function(point, {.size = static_cast<std::int64_t>(std::ranges::size(*kept)), .name = "range"});
  } else {
    const auto make = [kept](std::uint64_t) -> Generator {
      return [kept, at = std::ranges::begin(*kept)]() mutable -> std::optional<DataPoint> {
        if (at == std::ranges::end(*kept)) return std::nullopt;
        return to_point(*at++);
      };
    };
    return from_generator(make, {.name = "range"});
  }
}

}  // namespace belfry
#pragma GCC visibility pop
