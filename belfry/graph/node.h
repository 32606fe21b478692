// A node of the graph: what an Operation handle points to. Owned by its Graph, never moved, immutable once added.
#pragma once

#include <string>
#include <vector>

#include "belfry/graph/device.h"
#include "belfry/graph/op_def.h"

#pragma GCC visibility push(default)
namespace belfry {

// What recompute needs to know about a node: `segment` is the marked sub-graph that it (or the node that it is the
// gradient of) was made in, `pass` the call of gradients() that made it. 0: none.
struct RecomputeMark {
  int segment = 0, pass = 0;
};

struct Node {
  Graph* graph = nullptr;
  int id = 0;  // creation order, which is also a topological order
  const OpDef* def = nullptr;
  std::string name;
  std::vector<Tensor> inputs;
  std::vector<Node*> control_inputs;
  std::vector<Node*> conditions;  // of an update: the bool variables that must be true for it to happen
  Attributes attributes;
  std::vector<TensorSpec> outputs;  // names are those of def
  KnownInts ints;                   // of its output, as far as they are known before a run
  Device device;                    // none: the session's first
  int tower = 0;                    // index of the tower it was made in; part of a random op's seed
  Location where;
  RecomputeMark mark;

  Tensor output(int index = 0) { return {this, index}; }
};

// "[Conv2D 'block2/conv1'] " and " (train.cc:42)", the two ends of an error about a node.
std::string describe(const Node& node);
std::string made_at(const Node& node);

}  // namespace belfry
#pragma GCC visibility pop
