// PointFunction: what map() applies to each point. Any of these signatures will do:
//
//   DataPoint(DataPoint)                              DataPoint(DataPoint, RandomStream&)
//   std::optional<DataPoint>(DataPoint)               std::optional<DataPoint>(DataPoint, RandomStream&)
//
// One that returns an optional may drop points. The random numbers are a point's own: they come from (seed, epoch,
// index), so that they are the same on every thread and after a restore().
#pragma once

#include <concepts>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

#include "belfry/base/random.h"
#include "belfry/dataflow/dataflow.h"

#pragma GCC visibility push(default)
namespace belfry {

template <class F>
concept FunctionOfPoint = std::invocable<F&, DataPoint>;
template <class F>
concept RandomFunctionOfPoint = !FunctionOfPoint<F> && std::invocable<F&, DataPoint, RandomStream&>;

class PointFunction {
 public:
  PointFunction(std::nullptr_t) {}  // NOLINT(google-explicit-constructor)
  template <class F>
    requires(FunctionOfPoint<F> && !std::same_as<std::remove_cvref_t<F>, PointFunction>)
  PointFunction(F function) : drops_(may_drop<std::invoke_result_t<F&, DataPoint>>) {  // NOLINT
    if (is_empty(function)) return;
    call_ = [function = std::move(function)](DataPoint&& point, RandomStream&) mutable -> std::optional<DataPoint> {
      return function(std::move(point));
    };
  }
  template <RandomFunctionOfPoint F>
  PointFunction(F function)  // NOLINT(google-explicit-constructor)
      : drops_(may_drop<std::invoke_result_t<F&, DataPoint, RandomStream&>>), random_(true) {
    if (is_empty(function)) return;
    call_ = std::move(function);
  }

  explicit operator bool() const { return static_cast<bool>(call_); }
  bool drops() const { return drops_; }    // may return nothing
  bool random() const { return random_; }  // asks for random numbers
  std::optional<DataPoint> operator()(DataPoint&& point, RandomStream& random) const {
    return call_(std::move(point), random);
  }

 private:
  template <class Result>
  static constexpr bool may_drop = !std::convertible_to<Result, DataPoint>;
  template <class F>
  static bool is_empty(const F& function) {
    if constexpr (std::is_constructible_v<bool, const F&> && requires { function == nullptr; })
      return function == nullptr;
    else
      return false;
  }

  std::function<std::optional<DataPoint>(DataPoint&&, RandomStream&)> call_;
  bool drops_ = false;
  bool random_ = false;
};

}  // namespace belfry
#pragma GCC visibility pop
