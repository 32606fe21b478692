// What a run has to visit of the graph.
#pragma once

#include <vector>

#include "belfry/engine/passes.h"

namespace belfry {

// Whether all outputs of a node are among the fed ones, (node, output) pairs, so that it need not run.
template <class Fed>
bool is_fed(const Node* node, const Fed& fed) {
  for (int i = 0; i < static_cast<int>(node->outputs.size()); ++i)
    if (!fed.contains({node, i})) return false;
  return !node->outputs.empty();
}

// Everything that the fetches and targets depend on, up to what is fed.
std::vector<const Node*> needed_nodes(const Signature& signature);

// The "QueueTake"s among them, in the order of creation: the points that the run has to take before it can start.
std::vector<const Node*> needed_takes(const Signature& signature);

}  // namespace belfry
