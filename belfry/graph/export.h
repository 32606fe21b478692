// A graph as text for people and tools: Graphviz DOT to look at, JSON to process.
#pragma once

#include <string>

#pragma GCC visibility push(default)
namespace belfry {

class Graph;

// One box per operation, nested in a cluster for each name scope. Edges carry dtype and shape; control edges are
// dashed. Variables are cylinders, and operations that overwrite one have a double border.
std::string to_dot(const Graph& graph);

// An object with
//   "nodes":       [{"op", "name", "inputs": ["conv0/W", "split:1"], "control_inputs": ["init"], "attributes": {...},
//                    "outputs": [{"name", "dtype", "shape": [null, 28, 28, 1]}], "device", "tower", "where"}]
//   "variables":   [{"name", "dtype", "shape", "trainable", "initial_value"}]
//   "collections": {"TRAINABLE_VARIABLES": ["conv0/W"]}
//   "seed", "finalized"
// Nodes are in creation order, which is a topological one; an unknown dimension is null. An attribute that is an array
// is {"dtype", "shape", "values"}; above 16 elements, "min", "max" and "mean" replace the values. Numbers that JSON
// cannot express are the strings "nan", "inf" and "-inf".
std::string to_json(const Graph& graph);

}  // namespace belfry
#pragma GCC visibility pop
