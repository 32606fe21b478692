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

#include <cstdint>
#include <functional>
#include <memory>

#include "belfry/graph/variable_scope.h"

#pragma GCC visibility push(default)
namespace belfry {

// What a batch_norm layer inside freeze_variables() does in training, where its gamma and beta are not trained.
enum class BatchStatistics : std::uint8_t {
  move,    // normalises by the batch and moves its averages, as if it were trained
  stay,    // normalises by the batch; its averages stay as they are
  stored,  // normalises by its averages, which stay as they are: the same as in inference (PyTorch's eval())
};

struct FreezeOptions {
  bool stop_gradient = true;    // no gradient flows through what get_variable() gives
  bool skip_collection = true;  // not in TRAINABLE_VARIABLES but in MODEL_VARIABLES; no regulariser of its own
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

// What get_variable() makes or finds inside is not trained. Either option alone leaves a way: without skip_collection a
// regularize_cost() still finds and trains the variable (Tensorpack's default, here not); without stop_gradient its
// gradient can be asked for. A variable found that was made outside stays in the collection it is in. Averages of batch
// norm are no trained variables: what happens to them is batch_statistics. Of several scopes around a layer the one
// that holds still most counts; a layer's own .training goes before all of them.
[[nodiscard]] inline FrozenVariables freeze_variables(const FreezeOptions& options = {}) {
  return FrozenVariables(options);
}
BatchStatistics frozen_batch_statistics();  // for layers: move outside of freeze_variables()

// What get_variable() gives inside is seen through `map`, which makes a tensor of the variable's shape, or gives the
// variable itself. Gradients flow through it to the variable; assignments go to the variable.
[[nodiscard]] std::unique_ptr<VariableScope> remap_variables(std::function<Tensor(const Variable& variable)> map,
                                                             const Location& where = Location::current());

}  // namespace belfry
#pragma GCC visibility pop
