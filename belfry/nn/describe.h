// The parts of a model as readable tables: log_info(describe_layers(graph)). Nothing is printed by default, but at log
// level debug every layer logs its shapes when it is made.
#pragma once

#include <string>

#pragma GCC visibility push(default)
namespace belfry {

class Graph;

// A line for each layer: its name, the shapes of its input and output, its trainable parameters, the floating-point
// operations of one forward pass (multiply-adds count as two) and the size of its output; then the totals. An unknown
// dimension counts as one, so that the numbers are for one example if only the batch is unknown; a MFLOP is a million,
// a kB a thousand. A layer that is used again, or built again in another tower, has one line; the parts of a layer
// follow it and are included in its numbers. Bodies of loops and branches are not counted.
std::string describe_layers(const Graph& graph);

// A line for each trainable variable: its name, shape, type, number of elements and device; then the totals, where an
// MB is a million bytes.
std::string describe_trainable_vars(const Graph& graph);

}  // namespace belfry
#pragma GCC visibility pop
