// Values to watch: put into collections here, turned into metrics by callbacks. Only the main training tower (or code
// outside of any tower) adds to them; elsewhere these do nothing.
#pragma once

#include <vector>

#include "belfry/graph/tensor.h"

#pragma GCC visibility push(default)
namespace belfry {

// Scalars whose moving average over the steps is reported.
void add_moving_summary(const std::vector<Tensor>& scalars, const Location& where = Location::current());
// Tensors whose value at the last step of an epoch is reported.
void add_summary(const std::vector<Tensor>& tensors, const Location& where = Location::current());

}  // namespace belfry
#pragma GCC visibility pop
