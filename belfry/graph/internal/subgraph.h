// A function of tensors as a separate graph: what the branches of cond() and the body of while_loop() are made of.
// Inside, tensors of the graph around it may be used freely: each becomes one more input ("captured"). Variables are
// made in the outermost graph, so layers work inside; assignments do not.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "belfry/base/function_ref.h"
#include "belfry/graph/graph.h"

namespace belfry {

struct SubGraph {
  std::unique_ptr<Graph> graph;
  Tensors inputs;    // placeholders: the arguments, then what was captured
  Tensors outputs;   // all of graph
  Tensors captured;  // tensors of the graph around it, one for each of the last inputs
  std::size_t arguments() const { return inputs.size() - captured.size(); }
};
using SubGraphPtr = std::shared_ptr<const SubGraph>;

// Calls `body` with one placeholder per spec. `name` is a name scope inside, under the current one.
SubGraphPtr make_subgraph(const std::vector<TensorSpec>& arguments, std::string_view name,
                          FunctionRef<Tensors(const Tensors&)> body);
// The same function with further inputs from the graph around it, so that two functions can take the same inputs.
// `captured` contains all that the function captured, and maybe more.
SubGraphPtr with_captures(const SubGraph& function, const Tensors& captured);
// The function's outputs for these inputs, as ops of the current graph.
Tensors inline_subgraph(const SubGraph& function, const Tensors& inputs);
// d sum(outputs * given) / d inputs: a function of the inputs and of one gradient for each output of a float type,
// which gives one for each input of a float type (zeros where none flows).
SubGraphPtr gradient_of(const SubGraph& function, std::string_view name);
// What that function takes as gradients: for each output of a float type among `count` outputs of a node from `first`
// on, the gradient that arrived at it, or zeros.
Tensors float_grads(const GradientContext& c, std::size_t first, std::size_t count);

// The shapes of the outputs for inputs of these shapes, by the ops' own rules.
Shapes infer_subgraph(const SubGraph& function, std::span<const Shape> inputs);
std::vector<DType> dtypes_of(const Tensors& tensors);
// Whether one of the attributes is a function that contains a stateful op (at any depth): one that draws random
// numbers, say.
bool has_stateful_function(const Attributes& attributes);

}  // namespace belfry
