// UPDATE_OPS: what has to happen along with a step of training besides the optimizer's updates, such as moving batch
// norm's averages.
#pragma once

#include <vector>

#include "belfry/graph/tensor.h"

namespace belfry {

// Those of UPDATE_OPS that belong to a step that computes these gradients: made in the main training tower, from
// something that the gradients are computed from too, and needing no input that they do not need. (Two costs in one
// graph, a generator's and a discriminator's, thus each have their own.)
std::vector<Operation> update_ops_for(const std::vector<Tensor>& gradients);

}  // namespace belfry
