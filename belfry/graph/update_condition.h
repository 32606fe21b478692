// Updates that happen in some runs only, such as every k-th.
//
//   const Tensor next = count.assign_add(1.f);
//   const UpdateCondition now(equal(mod(next, 4.f), 0.f));
//   train = sgd({.learning_rate = 0.1f})->minimize(cost);  // changes w in every fourth run of `train`
//
// Assignments and optimizers' updates that are made while the guard lives take place only in the runs in which the
// condition, a bool scalar, is true. In the others they are skipped and give the variable's unchanged value. Ops that
// change no variable run as usual, and so do updates made before or after. Under a guard inside another one, both
// conditions must be true.
//
// Why not cond(): its branches are functions of tensors and cannot change a variable. An update writes its variable in
// place, so skipping it is the same as an update that changes nothing: no value has to be kept or put back, and a run
// without updates costs less, not more. The condition is computed once per run, before the first update that needs it.
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
