// What comes before some operations on any path, data or control.
#pragma once

#include <span>
#include <vector>

#include "belfry/graph/node.h"

namespace belfry {

// These nodes (of one graph) and everything they depend on, in the order of creation.
std::vector<const Node*> with_ancestors(std::span<Node* const> nodes);

// Whether the node overwrites the variable.
bool assigns(const Node& node, const Node* variable);

}  // namespace belfry
