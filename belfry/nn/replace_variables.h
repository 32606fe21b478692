// Scopes that change what get_variable() returns, for all layers inside:
//
//   const auto frozen = freeze_variables();
//   features = image | resnet_backbone;  // not trained
//
//   const auto quantised = remap_variables([](const Variable& v) { return v.name().ends_with("/W") ? quantise(v) : v;
//   });
//
// They are in effect while the object lives, can be nested (the inner one applies first), and do not change names or
// the current variable scope.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "belfry/graph/variable_scope.h"

#pragma GCC visibility push(default)
namespace belfry {

// What a batch_norm layer inside freeze_variables() does in training, where its gamma and beta are not trained.
enum class BatchStatistics : std::uint8_t {
  move,    // normalises by the batch and moves its averages, as if it were trained
  stay,    // normalises by the batch; its averages do not change
  stored,  // normalises by its averages, which do not change: as in inference (PyTorch's eval())
};

struct FreezeOptions {
  bool stop_gradient = true;    // no gradient flows through what get_variable() returns
  bool skip_collection = true;  // not in TRAINABLE_VARIABLES but in MODEL_VARIABLES, and without its regulariser
  BatchStatistics batch_statistics = BatchStatistics::move;
};

class FrozenVariables {
 public:
  explicit FrozenVariables(const FreezeOptions& options);
  ~FrozenVariables();
  FrozenVariables(const FrozenVariables&) = delete;
  FrozenVariables& operator=(const FrozenVariables&) = delete;

 private:
  std::unique_ptr<VariableScope> scope_;
};

// What get_variable() makes or finds inside is not trained. Either option alone is not enough: without skip_collection
// a regularize_cost() still finds and trains the variable (the default in Tensorpack, but not here); without
// stop_gradient its gradient can still be asked for. A variable that was made outside stays in its collection. Averages
// of batch norm are not trained variables: batch_statistics says what happens to them. Of several scopes around a layer
// the strictest one counts; a layer's own .training takes precedence over all of them.
[[nodiscard]] inline FrozenVariables freeze_variables(const FreezeOptions& options = {}) {
  return FrozenVariables(options);
}
BatchStatistics frozen_batch_statistics();  // for layers: move outside of freeze_variables()

// What get_variable() returns inside is read through `map`, which makes a tensor of the variable's shape, or returns
// the variable itself. Gradients flow through it to the variable; assignments go to the variable.
[[nodiscard]] std::unique_ptr<VariableScope> remap_variables(std::function<Tensor(const Variable& variable)> map,
                                                             const Location& where = Location::current());

}  // namespace belfry
#pragma GCC visibility pop
