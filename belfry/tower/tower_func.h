// TowerFunc: the function that builds one replica of a model, and a record of every call.
//
//   TowerFunc build([](Inputs in) { return cost_of(in["image"], in["label"]); }, signature);
//   { TrainTowerContext tower("");  cost = build(inputs)[0]; }
//   build.towers().training()[0].get_tensor("conv1/output");
//
// A tower function may be called several times, for several towers and for inference. So it follows five rules, which
// are checked (tower_rules.h says how); a violation is an error that names the variable, the tower and the rule:
//
//   1. Called again, it makes or uses the same trainable variables; an inference tower uses some of them.
//   2. A trainable variable is a float that the cost depends on; state that inference needs is a MODEL_VARIABLE.
//   3. The name of a trainable variable begins with the enclosing variable scope, contains it once, and depends neither
//   on
//      name scopes nor on the names of tensors.
//   4. Trainable variables respect reuse, and the function does not change the reuse of a scope that it did not open.
//   5. No scope or variable has the word "tower" in its name.
#pragma once

#include <concepts>
#include <functional>
#include <type_traits>
#include <vector>

#include "belfry/tower/inputs.h"
#include "belfry/tower/tower_handle.h"

#pragma GCC visibility push(default)
namespace belfry {

struct TowerFuncOptions {
  // Also calls the function three times on a scratch graph, before its first real call, to see what it would do a
  // second time. What it keeps from those calls (tensors or variables, in members say) must not be used: that is an
  // error.
  bool check_tower_rules = true;
  // Called there instead: the same function of another object, so that only real calls leave anything behind in this
  // one.
  std::function<Tensors(const Inputs&)> stand_in{};
};

class TowerFunc {
 public:
  using Function = std::function<Tensors(const Inputs&)>;

  TowerFunc() = default;  // empty: not to be called
  // The function takes Inputs and returns a Tensor, Tensors, or nothing.
  template <class F>
    requires std::invocable<F&, const Inputs&>
  TowerFunc(F function, std::vector<TensorSpec> signature, TowerFuncOptions options = {})
      : function_(wrap(std::move(function))), signature_(std::move(signature)), options_(std::move(options)) {}

  explicit operator bool() const { return function_ != nullptr; }
  // In a TowerContext. The inputs are in the order of the signature.
  Tensors operator()(const Tensors& inputs, const Location& where = Location::current());

  const std::vector<TensorSpec>& signature() const { return signature_; }
  const TowerTensorHandles& towers() const { return towers_; }

 private:
  template <class F>
  static Function wrap(F function) {
    return [function = std::move(function)](const Inputs& inputs) mutable -> Tensors {
      using Result = std::invoke_result_t<F&, const Inputs&>;
      if constexpr (std::same_as<Result, void>) {
        function(inputs);
        return {};
      } else if constexpr (std::convertible_to<Result, Tensor>) {
        return {function(inputs)};
      } else {
        return function(inputs);
      }
    };
  }

  Function function_;
  std::vector<TensorSpec> signature_;
  TowerFuncOptions options_;
  TowerTensorHandles towers_;
};

}  // namespace belfry
#pragma GCC visibility pop
