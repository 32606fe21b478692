// Moving averages of the weights: often better than the weights themselves in inference (Polyak averaging).
//
//   train = ema_of_weights(adam(), {.decay = 0.999})->minimize(cost);
//
// To evaluate with them while training, build the inference tower in their scope:
//
//   const PredictTowerContext tower("predict");
//   const auto averages = use_ema_of_weights();
//   logits = model(image);                     // reads "conv0/W/EMA" where the model asks for "conv0/W"
//
// To export them, load a checkpoint into a session of the inference graph, which has no averages:
//
//   SaverRestore("train_log/run", {.prefer = "EMA"}).init(session);  // "conv0/W" gets the value of "conv0/W/EMA"
//   export_model(session, "model.npz");
//
// Averages are MODEL_VARIABLES, because inference may read them: SaverRestore restores them too.
#pragma once

#include <memory>

#include "belfry/graph/variable_scope.h"
#include "belfry/nn/optimizer.h"

#pragma GCC visibility push(default)
namespace belfry {

struct EmaOptions {
  double decay = 0.999;
  // The decay of update n (0 at first) is min(decay, (1 + n) / (10 + n)): averages soon forget where they started.
  bool warm_up = false;
};

// After each update of the wrapped optimizer, in the same operation, for every variable that it trains:
// "<variable>/EMA" -= (1 - decay) ("<variable>/EMA" - variable). The averages start as their variables do and are
// saved with them; with warm_up "EMA/updates" counts.
std::unique_ptr<Optimizer> ema_of_weights(std::unique_ptr<Optimizer> optimizer, EmaOptions options = {},
                                          const Location& where = Location::current());

// While it lives, get_variable() returns the average of each variable that has one. The graph must have some.
[[nodiscard]] std::unique_ptr<VariableScope> use_ema_of_weights(const Location& where = Location::current());

}  // namespace belfry
#pragma GCC visibility pop
