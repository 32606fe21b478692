// Large batches in small pieces: the gradients of several steps are applied together.
#pragma once

#include <memory>

#include "belfry/nn/optimizer.h"

#pragma GCC visibility push(default)
namespace belfry {

struct AccumulateOptions {
  bool sum = false;  // apply the sum of the steps' gradients instead of their average
};

// An optimizer whose operation adds up the gradients of each step and, in every `steps`-th run, lets the wrapped one
// apply their average. So k steps of batches of b with a mean cost are one step of a batch of k * b.
//
// The wrapped optimizer's updates are made under an UpdateCondition (see graph/update_condition.h): in the runs
// between, variables, slots, Adam's count and averages of weights do not change, and nothing is written for them.
// UPDATE_OPS (batch norm's averages) run in every step, because they belong to the batch. What processors inside
// compute from the sum so far (a norm, a check) is computed in every step.
//
// "<variable>/AccumulateGradients/sum" and "AccumulateGradients/count", the number of steps added up, are saved with
// the variables: a run that is resumed between two updates continues exactly. The sum of a table's sparse gradients is
// dense (though a step writes only the rows it looked up), so its update is the dense one: not lazy.
std::unique_ptr<Optimizer> accumulate_gradients(std::unique_ptr<Optimizer> optimizer, int steps,
                                                AccumulateOptions options = {},
                                                const Location& where = Location::current());

}  // namespace belfry
#pragma GCC visibility pop
