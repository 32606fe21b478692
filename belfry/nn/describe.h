// What a model is made of, as tables for people to read: log_info(describe_layers(graph)). Nothing is printed unless
// asked, but at log level debug every layer says its shapes as it is made.
#pragma once

#include <string>

namespace belfry {

class Graph;

// A line for each layer: its name and the shapes of its input and output. A layer that is used again, or built once
// more in another tower, has one line; the parts of a layer follow it.
std::string describe_layers(const Graph& graph);

// A line for each trainable variable: its name, shape, type, number of elements and device; then the totals, where a MB
// is a million bytes.
std::string describe_trainable_vars(const Graph& graph);

}  // namespace belfry
