// TrainConfig: a whole training in one structure, and the function that runs it.
//
//   TrainConfig config{.model = model<MyNet>(),
//                      .dataflow = fashion_mnist("train") | batch(128),
//                      .callbacks = {ModelSaver()},
//                      .max_epoch = 10};
//   SimpleTrainer trainer;
//   launch_train_with_config(std::move(config), trainer);
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "belfry/dataflow/flow.h"
#include "belfry/input/input_source.h"
#include "belfry/launch/stop_on_signal.h"
#include "belfry/loop/trainer.h"
#include "belfry/train/model_desc.h"
#include "belfry/train/single_cost_trainer.h"

#pragma GCC visibility push(default)
namespace belfry {

struct TrainConfig {
  Handle<ModelDesc> model{};
  // One of the two. A flow is wrapped in a QueueInput.
  Flow dataflow{};
  InputSourcePtr input{};
  GetOptimizer optimizer{};        // instead of the model's
  bool require_gradients = false;  // a trainable variable without a gradient is an error, not a warning
  bool check_tower_rules = true;   // with extra calls of the model's build_graph() (see TowerFuncOptions)
  // When the cost of a step is NaN or infinite; the trainer's own setting is ignored.
  OnBadCost on_bad_cost = OnBadCost::stop_after_epoch;

  Callbacks callbacks{};
  std::optional<Callbacks> extra_callbacks{};  // instead of the default ones
  std::vector<Handle<Monitor>> monitors{};     // instead of the default ones, if there are any

  SessionConfig session_config{};
  SessionInit session_init{};
  std::optional<int> starting_epoch{};            // default: where the continued run was; 1 for a new one
  std::optional<std::int64_t> steps_per_epoch{};  // default: one pass of the data
  int max_epoch = 99999;                          // the last one
  std::string run_dir{};                          // where the run's files go: see TrainOptions::run_dir

  // Continues the run in run_dir, if it holds a checkpoint, so that the same command goes on after the program was
  // killed: see TrainOptions::auto_resume.
  bool auto_resume = false;

  // Ctrl-C and SIGTERM finish the step, or cut a validation short, and end training (see Interrupted); a second one
  // ends the program at once. SIGUSR1 saves after the running step, and training goes on.
  bool handle_signals = true;
};

// Returns the reason why training ended, like Trainer::train(). Throws Interrupted if a signal ended it.
std::string launch_train_with_config(TrainConfig config, SingleCostTrainer& trainer,
                                     const Location& where = Location::current());

}  // namespace belfry
#pragma GCC visibility pop
