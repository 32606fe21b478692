// The cost of one forward pass through a layer. An unknown dimension of an input counts as one.
#pragma once

#include <string>
#include <vector>

#include "belfry/array/shape.h"

namespace belfry {

class Graph;
struct Node;

struct LayerCost {
  double flops = 0;         // multiply-adds counted as two
  double output_bytes = 0;  // of its output
};

class LayerCosts {
 public:
  explicit LayerCosts(const Graph& graph);  // must outlive this
  // The cost of the layer where it was made first, in any tower; nothing for one in the body of a loop or a branch.
  LayerCost of(const std::string& layer) const;

 private:
  void infer(const Node& node);
  const Node* output_of(const std::string& layer) const;
  double flops_of_node(const Node& node) const;
  const Shape& shape(const Node& node, int output) const;

  const Graph& graph_;
  std::vector<std::vector<Shape>> shapes_;  // by node and output
};

}  // namespace belfry
