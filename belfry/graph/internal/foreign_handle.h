// Handles that are used with a graph that they do not belong to.
//
//   BELFRY_CHECK(belongs_to(op, graph), "[RunOp] expected an op of the trainer's graph, got {}", foreign(op, "",
//   "..."));
#pragma once

#include <string>
#include <string_view>

#include "belfry/graph/tensor.h"

namespace belfry {

// Whether it was made in this very graph. Any handle may be given, even one into a graph that is gone.
bool belongs_to(const Operation& handle, const Graph& graph);
// Whether it was made in this graph, a sub-graph of it or a graph around it.
bool related_to(const Operation& handle, const Graph& graph);

// The second half of an error about a handle that does not belong: "'x' of another graph (at train.cc:3). " and the
// remedy. For a graph that is gone, and for a scratch graph (Graph::mark_scratch), it names that cause and its remedy.
std::string foreign(const Operation& handle, std::string_view place, std::string_view remedy);

}  // namespace belfry
