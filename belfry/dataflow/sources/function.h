// A source whose points a function makes, one by one.
//
//   Flow squares = from_function([](std::int64_t i) { return DataPoint{Array(i * i)}; }, {.size = 100});
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "belfry/dataflow/flow.h"

#pragma GCC visibility push(default)
namespace belfry {

struct FunctionOptions {
  // Points in a pass. Without it, a pass ends where the function returns nothing.
  std::optional<std::int64_t> size{};
  std::string name = "function";  // in messages and states
};

using EpochIndexFunction = std::function<std::optional<DataPoint>(std::uint64_t epoch, std::int64_t index)>;

// Point `index` of a pass is function(epoch, index), which must depend on these alone. With a size there is random
// access: then the function may be called from several threads at once, and must return a point for every index below
// the size.
Flow from_function(EpochIndexFunction function, FunctionOptions options = {});

// The same for a function whose points are those of every epoch: function(index).
template <class F>
  requires(std::invocable<F&, std::int64_t> && !std::invocable<F&, std::uint64_t, std::int64_t>)
Flow from_function(F function, FunctionOptions options = {}) {
  return from_function(EpochIndexFunction([function = std::move(function)](std::uint64_t, std::int64_t index) mutable
                                              -> std::optional<DataPoint> { return function(index); }),
                       std::move(options));
}

}  // namespace belfry
#pragma GCC visibility pop
