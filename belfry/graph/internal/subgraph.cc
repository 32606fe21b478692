#include "belfry/graph/internal/subgraph.h"

#include <algorithm>
#include <map>
#include <set>

#include "belfry/base/check.h"
#include "belfry/graph/gradients.h"
#include "belfry/graph/internal/foreign_handle.h"
#include "belfry/graph/internal/scope_state.h"
#include "belfry/graph/recompute.h"
#include "belfry/graph/scope.h"

namespace belfry {
namespace {

const OpKind kCustomGradient = op_kind("CustomGradient");

// Inside a sub-graph: names continue the scope around it (so that random ops draw different numbers), variables keep
// their scopes; devices, control dependencies and recompute apply to the whole function, not to its ops.
class SubGraphScope : private ScopeGuard {
 public:
  SubGraphScope(Graph& graph, const std::string& name) {
    state().graph = &graph;
    state().name_scope = name;
    state().device = {};
    state().control.clear();
    state().mark = {};
  }
};

Tensor placeholder_of(DType dtype, const Shape& shape) {
  return add_tensor(find_op("Placeholder"), {}, {.attributes = {{"dtype", dtype}, {"shape", shape}}});
}

std::vector<TensorSpec> specs_of(const Tensors& tensors) {
  std::vector<TensorSpec> out;
  for (const Tensor& t : tensors) out.push_back({"", t.dtype(), t.shape()});
  return out;
}

void check_output(const Tensor& t, const Graph& graph, std::string_view name, std::size_t index) {
  BELFRY_CHECK(static_cast<bool>(t), "[{}] expected tensors as results, got an empty one at index {}", name, index);
  BELFRY_CHECK(belongs_to(t, graph), "[{}] expected results that are made inside, got {}", name, foreign(t, "", ""));
}

}  // namespace

SubGraphPtr make_subgraph(const std::vector<TensorSpec>& arguments, std::string_view name,
                          FunctionRef<Tensors(const Tensors&)> body) {
  Graph& around = current_graph();
  auto out = std::make_shared<SubGraph>();
  out->graph = std::make_unique<Graph>(&around);
  const SubGraphScope scope(*out->graph, join_scope(scope_state().name_scope, name));
  for (const TensorSpec& spec : arguments) out->inputs.push_back(placeholder_of(spec.dtype, spec.shape));
  out->outputs = body(out->inputs);
  for (std::size_t i = 0; i < out->outputs.size(); ++i) {
    Tensor& t = out->outputs[i];
    if (t && &t.graph() != out->graph.get()) t = add_tensor(find_op("Identity"), {t});  // a captured tensor, unchanged
    check_output(t, *out->graph, name, i);
  }
  for (const auto& [outer, inner] : out->graph->captures()) {
    out->captured.push_back(outer);
    out->inputs.push_back(inner);
  }
  return out;
}

SubGraphPtr with_captures(const SubGraph& function, const Tensors& captured) {
  const Tensors own(function.inputs.begin(),
                    function.inputs.begin() + static_cast<std::ptrdiff_t>(function.arguments()));
  std::vector<TensorSpec> specs = specs_of(own);
  for (const Tensor& t : captured) specs.push_back({"", t.dtype(), t.shape()});
  auto out = std::const_pointer_cast<SubGraph>(make_subgraph(specs, "captured", [&](const Tensors& inputs) {
    Tensors given(inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(own.size()));
    for (const Tensor& t : function.captured) {
      const auto at = std::ranges::find(captured, t);
      given.push_back(inputs[own.size() + static_cast<std::size_t>(at - captured.begin())]);
    }
    return inline_subgraph(function, given);
  }));
  out->captured = captured;
  return out;
}

Tensors inline_subgraph(const SubGraph& function, const Tensors& inputs) {
  std::map<std::pair<const Node*, int>, Tensor> values;
  std::map<const Node*, Node*> copies;
  std::set<const Node*> needed;
  std::vector<const Node*> open;
  for (const Tensor& t : function.outputs) open.push_back(t.node());
  while (!open.empty()) {
    const Node* node = open.back();
    open.pop_back();
    if (!needed.insert(node).second) continue;
    for (const Tensor& t : node->inputs) open.push_back(t.node());
    for (const Node* before : node->control_inputs) open.push_back(before);
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) values[{function.inputs[i].node(), 0}] = inputs[i];
  for (const auto& node : function.graph->nodes()) {
    if (!needed.contains(node.get()) || values.contains({node.get(), 0})) continue;
    std::vector<Operand> operands;
    for (const Tensor& t : node->inputs) operands.emplace_back(values.at({t.node(), t.output()}), node->where);
    std::vector<Operation> before;
    for (const Node* n : node->control_inputs)
      if (const auto at = copies.find(n); at != copies.end()) before.emplace_back(at->second);
    const LocationScope location(node->where);
    const CopyOfScope mark(*node);
    const ControlDependencies after(before);
    Attributes attributes = node->attributes;
    if (node->def->kind == kCustomGradient)  // its function is kept by the graph
      attributes.set("gradient",
                     current_graph().keep_gradient(function.graph->kept_gradient(attributes.integer("gradient"))));
    Node* copy = add_op(node->def, operands, {.attributes = std::move(attributes)});
    copies[node.get()] = copy;
    for (int i = 0; i < static_cast<int>(copy->outputs.size()); ++i) values[{node.get(), i}] = {copy, i};
  }
  Tensors out;
  for (const Tensor& t : function.outputs) out.push_back(values.at({t.node(), t.output()}));
  return out;
}

SubGraphPtr gradient_of(const SubGraph& function, std::string_view name) {
  std::vector<TensorSpec> specs = specs_of(function.inputs);
  for (const Tensor& t : function.outputs)
    if (is_float(t.dtype())) specs.push_back({"", t.dtype(), t.shape()});
  return make_subgraph(specs, name, [&](const Tensors& all) {
    const std::size_t count = function.inputs.size();
    const Tensors outputs =
        inline_subgraph(function, Tensors(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count)));
    Tensors ys, grads, xs;
    for (const Tensor& y : outputs)
      if (is_float(y.dtype())) {
        ys.push_back(y);
        grads.push_back(all[count + grads.size()]);
      }
    for (std::size_t i = 0; i < count; ++i)
      if (is_float(all[i].dtype())) xs.push_back(all[i]);
    Tensors out = gradients(ys, xs, {.grad_ys = grads});
    for (std::size_t i = 0; i < out.size(); ++i)
      if (!out[i]) out[i] = add_tensor(find_op("ZerosLike"), {xs[i]});
    return out;
  });
}

Tensors float_grads(const GradientContext& c, std::size_t first, std::size_t count) {
  Tensors out;
  for (std::size_t i = first; i < first + count; ++i) {
    const int index = static_cast<int>(i);
    if (!is_float(c.output(index).dtype())) continue;
    out.push_back(c.has_grad(index) ? c.grad(index) : add_tensor(find_op("ZerosLike"), {c.output(index)}));
  }
  return out;
}

bool has_stateful_function(const Attributes& attributes) {
  const auto is_stateful = [](const auto& node) {
    return node->def->stateful || has_stateful_function(node->attributes);
  };
  return std::ranges::any_of(attributes.items(), [&](const auto& item) {
    const auto* function = std::get_if<SubGraphPtr>(&item.second);
    return function != nullptr && std::ranges::any_of((*function)->graph->nodes(), is_stateful);
  });
}

Shapes infer_subgraph(const SubGraph& function, std::span<const Shape> inputs) {
  std::map<std::pair<const Node*, int>, Shape> shapes;
  std::map<const Node*, KnownInts> known;  // integers that shapes in it are made of
  for (std::size_t i = 0; i < inputs.size(); ++i) shapes[{function.inputs[i].node(), 0}] = inputs[i];
  for (const auto& node : function.graph->nodes()) {
    if (shapes.contains({node.get(), 0})) continue;
    std::vector<Shape> in;
    std::vector<KnownInts> ints;
    for (const Tensor& t : node->inputs) {
      in.push_back(shapes.at({t.node(), t.output()}));
      ints.push_back(known[t.node()]);
    }
    const std::vector<DType> dtypes = dtypes_of(node->inputs);
    const ShapeContext context(in, dtypes, node->attributes, ints);
    const InferredOutputs inferred = infer_outputs(*node->def, context);
    std::vector<TensorSpec> outputs;
    for (std::size_t i = 0; i < inferred.shapes.size(); ++i) {
      shapes[{node.get(), static_cast<int>(i)}] = inferred.shapes[i];
      outputs.push_back({"", inferred.dtypes[i], inferred.shapes[i]});
    }
    known[node.get()] = infer_ints(*node->def, context, outputs);
  }
  Shapes out;
  for (const Tensor& t : function.outputs) out.push_back(shapes.at({t.node(), t.output()}));
  return out;
}

std::vector<DType> dtypes_of(const Tensors& tensors) {
  std::vector<DType> out;
  for (const Tensor& t : tensors) out.push_back(t.dtype());
  return out;
}

}  // namespace belfry
