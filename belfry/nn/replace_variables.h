// Scopes that change what get_variable() gives, for all layers inside:
//
//   const auto frozen = freeze_variables();
//   features = image | resnet_backbone;  // not trained
//
//   const auto quantised = remap_variables([](const Variable& v) { return v.name().ends_with("/W") ? quantise(v) : v;
//   });
//
// They hold while the object lives, nest (the inner one sees first), and keep names and the current variable scope.
#pragma once

#include <functional>
#include <memory>

#include "belfry/graph/variable_scope.h"

namespace belfry {

struct FreezeOptions {
  bool stop_gradient = true;    // no gradient flows through what get_variable() gives
  bool skip_collection = true;  // not in TRAINABLE_VARIABLES but in MODEL_VARIABLES; no regulariser of its own
};
// What get_variable() makes or finds inside is not trained. Either option alone leaves a way: without skip_collection a
// regularize_cost() still finds and trains the variable (Tensorpack's default, here not); without stop_gradient its
// gradient can be asked for. A variable found that was made outside stays in the collection it is in. Batch norm still
// moves its averages in training, as those are not trained.
[[nodiscard]] std::unique_ptr<VariableScope> freeze_variables(const FreezeOptions& options = {});

// What get_variable() gives inside is seen through `map`, which makes a tensor of the variable's shape, or gives the
// variable itself. Gradients flow through it to the variable; assignments go to the variable.
[[nodiscard]] std::unique_ptr<VariableScope> remap_variables(std::function<Tensor(const Variable& variable)> map,
                                                             const Location& where = Location::current());

}  // namespace belfry
