#include "belfry/launch/train_config.h"

#include <algorithm>

#include "belfry/base/check.h"
#include "belfry/base/log.h"
#include "belfry/graph/internal/ancestors.h"
#include "belfry/input/flow_inputs.h"
#include "belfry/nn/describe.h"

namespace belfry {
namespace {

InputSourcePtr input_of(const TrainConfig& config, const Location& where) {
  const bool flow = static_cast<bool>(config.dataflow), input = static_cast<bool>(config.input);
  BELFRY_CHECK(flow != input,
               "[launch_train_with_config] expected either .dataflow or .input, got {} (at {}). Set one of the two.",
               flow ? "both" : "neither", to_string(where));
  return input ? config.input : InputSourcePtr(QueueInput(config.dataflow));
}

// A regularisation loss that is not part of the cost is a mistake that shows nowhere else.
void warn_of_unused_regularization(const Graph& graph, const Operation& train_op) {
  const std::vector<Tensor> losses = graph.collections().tensors(collection::kRegularizationLosses);
  if (losses.empty() || !train_op) return;
  Node* const train[] = {train_op.node()};
  const std::vector<const Node*> used = with_ancestors(train);
  std::string unused;
  for (const Tensor& loss : losses)
    if (std::ranges::find(used, loss.node()) == used.end())
      unused += fmt::format("{}'{}'", unused.empty() ? "" : ", ", loss.name());
  if (!unused.empty())
    log_warning(
        fmt::format("[launch_train_with_config] the regularisation losses {} are not part of the cost. Add "
                    "regularize_cost_from_collection() to it, or remove the regularisers.",
                    unused));
}

}  // namespace

std::string launch_train_with_config(TrainConfig config, SingleCostTrainer& trainer, const Location& where) {
  BELFRY_CHECK(static_cast<bool>(config.model), "[launch_train_with_config] expected a model, got none (at {}).",
               to_string(where));
  trainer.require_gradients |= config.require_gradients;
  trainer.on_bad_cost = config.on_bad_cost;
  trainer.check_tower_rules &= config.check_tower_rules;
  trainer.setup_graph(config.model, input_of(config, where), config.optimizer, where);
  log_info("The model:\n" + describe_layers(trainer.graph()) + "\n" + describe_trainable_vars(trainer.graph()));
  warn_of_unused_regularization(trainer.graph(), trainer.train_op);

  std::optional<StopOnSignal> signals;
  if (config.handle_signals) signals.emplace(trainer);
  const std::string reason = trainer.train_with_defaults({.callbacks = std::move(config.callbacks),
                                                          .extra_callbacks = std::move(config.extra_callbacks),
                                                          .monitors = std::move(config.monitors),
                                                          .session_config = config.session_config,
                                                          .session_init = config.session_init,
                                                          .steps_per_epoch = config.steps_per_epoch,
                                                          .starting_epoch = config.starting_epoch,
                                                          .max_epoch = config.max_epoch,
                                                          .run_dir = config.run_dir,
                                                          .auto_resume = config.auto_resume},
                                                         where);
  if (signals) signals->throw_if_interrupted();
  return reason;
}

}  // namespace belfry
