// In which order variables get their initial values.
#pragma once

#include <vector>

#include "belfry/graph/variable.h"

namespace belfry {

// All variables in groups, one after the other: an initial value reads variables of earlier groups only. One group
// unless an initialiser uses another variable.
std::vector<std::vector<Variable>> initialization_order(const Graph& graph);

}  // namespace belfry
