// How a queue's node keeps what its points are made of. For the ops of queues and their kernels.
#pragma once

#include <vector>

#include "belfry/graph/attributes.h"
#include "belfry/graph/tensor.h"

namespace belfry {

// As attributes: "components" (how many), "dtype0", "shape0", "name0", ...; and back.
Attributes describe_components(const std::vector<TensorSpec>& components);
std::vector<TensorSpec> read_components(const Attributes& attributes);

}  // namespace belfry
