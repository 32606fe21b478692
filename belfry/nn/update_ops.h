// UPDATE_OPS: what a training step has to do besides the optimizer's updates, such as moving batch norm's averages.
#pragma once

#include <string_view>
#include <vector>

#include "belfry/graph/collections.h"
#include "belfry/graph/tensor.h"
#include "belfry/nn/optimizer.h"

#pragma GCC visibility push(default)
namespace belfry {

// All of the graph, whether collected as operations or as tensors.
std::vector<Operation> update_ops(const Graph& graph, std::string_view collection = collection::kUpdateOps);

// Those that belong to a step that applies these gradients, in their graph. They
//   - are computed from something that the gradients are computed from too, or from no data at all, like a counter;
//   - need no input that the gradients do not need;
//   - depend on a variable that is trained (a batch norm depends on its own gamma and beta) or on no trainable one.
// So a discriminator's step, on images that a generator makes, does not move the generator's averages. The generator's
// step moves the averages of everything between its variables and the cost: also the discriminator's, unless these need
// real images, as they do if the discriminator was applied to real images first (its second update follows the first).
std::vector<Operation> update_ops_for(const GradientsAndVariables& gradients);

}  // namespace belfry
#pragma GCC visibility pop
