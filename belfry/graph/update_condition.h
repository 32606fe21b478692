// Updates that happen in some runs only: every k-th, say.
//
//   const Tensor next = count.assign_add(1.f);
//   const UpdateCondition now(equal(mod(next, 4.f), 0.f));
//   train = sgd({.learning_rate = 0.1f})->minimize(cost);  // changes w in every fourth run of `train`
//
// Each assignment and each optimizer's update that is made while the guard lives takes place in those runs alone in
// which the condition, a bool scalar, is true; in the others it is skipped, and what it gives is the variable's value
// as it is. Ops that change no variable run as ever, and so do updates made before or after. A guard inside another
// one needs both conditions.
//
// Why not cond(): its branches are functions of tensors and own no variable. An update writes where its variable lies,
// so leaving it out is the same as an update that changes nothing: no value has to be kept or put back, and a run
// without updates costs less, not more. The condition is computed once a run, before the first update that asks.
#pragma once

#include "belfry/graph/scope.h"

#pragma GCC visibility push(default)
namespace belfry {

class UpdateCondition : private ScopeGuard {
 public:
  explicit UpdateCondition(const Tensor& condition, const Location& where = Location::current());
};

}  // namespace belfry
#pragma GCC visibility pop
