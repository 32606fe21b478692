// Lookahead (Zhang et al. 2019): slow weights that follow the fast ones of another optimizer.
#pragma once

#include <memory>

#include "belfry/nn/optimizer.h"

#pragma GCC visibility push(default)
namespace belfry {

struct LookaheadOptions {
  int period = 5;      // updates of the wrapped optimizer between two moves of the slow weights
  double alpha = 0.5;  // how far they move: with 1, only the wrapped optimizer acts
};

// After every `period`-th update of the wrapped optimizer: slow += alpha (variable - slow), variable = slow. The slow
// weights, "<variable>/Lookahead/slow", start as the variable does; "Lookahead/count" counts the updates since they
// moved. The wrapped optimizer's own state (momentum) is not changed.
std::unique_ptr<Optimizer> lookahead(std::unique_ptr<Optimizer> optimizer, LookaheadOptions options = {},
                                     const Location& where = Location::current());

}  // namespace belfry
#pragma GCC visibility pop
