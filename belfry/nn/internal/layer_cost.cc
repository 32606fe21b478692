#include "belfry/nn/internal/layer_cost.h"

#include <set>

#include "belfry/base/error.h"
#include "belfry/engine/evaluator.h"
#include "belfry/graph/graph.h"

namespace belfry {
namespace {

Shape known(Shape shape) {
  for (int i = 0; i < shape.rank(); ++i)
    if (shape[i] == kAny) shape.set(i, 1);
  return shape;
}

}  // namespace

LayerCosts::LayerCosts(const Graph& graph) : graph_(graph) {
  for (const auto& node : graph.nodes()) infer(*node);
}

const Shape& LayerCosts::shape(const Node& node, int output) const {
  return shapes_[static_cast<std::size_t>(node.id)][static_cast<std::size_t>(output)];
}

// Infers shapes by the op's own rule, so that unknown dimensions folded into one axis are counted correctly. An op that
// rejects a 1 in place of an unknown dimension keeps its declared shapes.
void LayerCosts::infer(const Node& node) {
  std::vector<Shape>& out = shapes_.emplace_back();
  for (const TensorSpec& declared : node.outputs) out.push_back(known(declared.shape));
  if (node.inputs.empty() || node.outputs.empty()) return;
  std::vector<Shape> inputs;
  std::vector<DType> dtypes;
  for (const Tensor& input : node.inputs) {
    inputs.push_back(shape(*input.node(), input.output()));
    dtypes.push_back(input.dtype());
  }
  try {
    const Shapes inferred = infer_outputs(*node.def, ShapeContext(inputs, dtypes, node.attributes)).shapes;
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = known(inferred[i]);
  } catch (const InternalError&) {
    throw;
  } catch (const Error&) {
  }
}

double LayerCosts::flops_of_node(const Node& node) const {
  if (node.def->source || node.def->keeps_elements) return 0;
  Work work{.attributes = node.attributes, .inputs = {}, .outputs = shapes_[static_cast<std::size_t>(node.id)]};
  for (const Tensor& input : node.inputs) work.inputs.push_back(shape(*input.node(), input.output()));
  return evaluator().flops(node.def->kind, work);
}

// By its name, with or without a tower's prefix: a part of the same name in another layer has a longer one.
const Node* LayerCosts::output_of(const std::string& layer) const {
  const std::string name = layer + "/output", in_tower = "/" + name;
  const Node* found = nullptr;
  for (const auto& node : graph_.nodes()) {
    if (node->name == name) return node.get();
    if (node->name.ends_with(in_tower) && (found == nullptr || node->name.size() < found->name.size()))
      found = node.get();
  }
  return found;
}

// Sums over all ops that the layer's output depends on and that are in its name scope.
LayerCost LayerCosts::of(const std::string& layer) const {
  const Node* output = output_of(layer);
  if (output == nullptr) return {};
  const std::string scope = output->name.substr(0, output->name.size() - std::string_view("output").size());
  LayerCost cost{.output_bytes = static_cast<double>(shape(*output, 0).elements()) *
                                 static_cast<double>(size_of(output->outputs[0].dtype))};
  std::vector<const Node*> open{output};
  std::set<const Node*> seen{output};
  while (!open.empty()) {
    const Node* node = open.back();
    open.pop_back();
    cost.flops += flops_of_node(*node);
    for (const Tensor& input : node->inputs)
      if (input.node()->name.starts_with(scope) && seen.insert(input.node()).second) open.push_back(input.node());
  }
  return cost;
}

}  // namespace belfry
