// Adding an operation: resolve operands, apply scopes, infer shapes, report mistakes where they are made.
#include <algorithm>
#include <map>

#include "belfry/base/check.h"
#include "belfry/base/random.h"
#include "belfry/graph/graph.h"
#include "belfry/graph/internal/foreign_handle.h"
#include "belfry/graph/internal/live_graphs.h"
#include "belfry/graph/internal/name_check.h"
#include "belfry/graph/internal/scope_state.h"
#include "belfry/graph/internal/state_ops.h"

namespace belfry {
namespace {

// Numbers take the type of the first operand that is a tensor.
DType common_dtype(const std::vector<Operand>& inputs) {
  for (const Operand& operand : inputs)
    if (!operand.is_number() && operand.tensor()) return operand.tensor().dtype();
  return DType::f32;
}

void check_input(const Node& node, std::size_t i, const Graph& graph) {
  BELFRY_CHECK(
      static_cast<bool>(node.inputs[i]),
      "{} expected input {} to be a tensor, got an empty one {}. An unconnected gradient is empty: test it first.",
      describe(node), i, made_at(node));
  BELFRY_CHECK(belongs_to(node.inputs[i], graph), "{} expected input {} from the current graph, got {}", describe(node),
               i, foreign(node.inputs[i], made_at(node), "Enter the GraphScope that the tensor was made in."));
}

// Before anything uses the operands: their graphs must still exist.
void check_live(const Node& node, const std::vector<Operand>& operands) {
  for (std::size_t i = 0; i < operands.size(); ++i)
    if (const Tensor& given = operands[i].given(); !is_live_graph(given.graph_id()))
      fail("{} expected input {} from the current graph, got {}", describe(node), i, foreign(given, made_at(node), ""));
}

void check_inputs(const Node& node, const Graph& graph) {
  const std::size_t fixed = node.def->inputs.size() - (node.def->variadic ? 1 : 0);
  BELFRY_CHECK(node.def->variadic ? node.inputs.size() >= fixed : node.inputs.size() == fixed,
               "{} expected {} inputs, got {} {}", describe(node), fixed, node.inputs.size(), made_at(node));
  for (std::size_t i = 0; i < node.inputs.size(); ++i) check_input(node, i, graph);
}

// Whether the tensor is a few integers that follow from shapes and constants alone. `known`: the results so far.
bool is_size(const Tensor& t, std::map<const Node*, bool>& known) {
  const Node& node = *t.node();
  if (const auto found = known.find(&node); found != known.end()) return found->second;
  bool out = !node.ints.empty() && node.control_inputs.empty();
  for (int i = 0; out && i < static_cast<int>(node.inputs.size()); ++i)
    out = node.def->uses_only_shape(i) || is_size(node.inputs[static_cast<std::size_t>(i)], known);
  return known[&node] = out;
}

// Makes a size again in a sub-graph, starting from shapes: if it were captured, it would be known only in a run, too
// late for shapes.
Tensor size_inside(const Tensor& outer, Graph& graph) {
  const Node& node = *outer.node();
  if (const Tensor made = graph.size_inside(&node); made) return made;
  std::vector<Operand> inputs;
  for (const Tensor& t : node.inputs) inputs.emplace_back(t, node.where);
  return graph.keep_size(&node, add_tensor(node.def, inputs, {.attributes = node.attributes}));
}

// In a sub-graph: tensors of the graphs around it become inputs of the sub-graph.
void use_inside(Node& node, Graph& graph) {
  BELFRY_CHECK(
      node.def->updates.empty(),
      "{} expected no assignment inside cond(), while_loop(), scan() or the step of a cell, got one {}. Return the new "
      "value and assign it outside; a layer with its own state, like batch norm, must stay outside too.",
      describe(node), made_at(node));
  std::map<const Node*, bool> known;
  for (Tensor& t : node.inputs) {
    const Graph* from = t ? &t.graph() : nullptr;
    for (const Graph* g = graph.around(); g != nullptr && from != nullptr && from != &graph; g = g->around())
      if (g == from) {
        t = is_size(t, known) ? size_inside(t, graph) : graph.capture(t);
        break;
      }
  }
}

void apply_conditions(Node& node, const ScopeState& scope) {
  for (const UpdateConditionFlag& flag : scope.update_conditions) {
    BELFRY_CHECK(node.def->outputs.size() == 1,
                 "{} expected an update that gives only its variable's new value under an UpdateCondition, got one "
                 "with {} outputs {}. Make it outside, or split it.",
                 describe(node), node.def->outputs.size(), made_at(node));
    node.conditions.push_back(flag.variable);
    if (std::ranges::find(node.control_inputs, flag.set) == node.control_inputs.end())
      node.control_inputs.push_back(flag.set);
  }
}

void infer(Node& node) {
  std::vector<Shape> shapes;
  std::vector<DType> dtypes;
  std::vector<KnownInts> ints;
  for (const Tensor& input : node.inputs) {
    shapes.push_back(input.shape());
    dtypes.push_back(input.dtype());
    ints.push_back(input.node()->ints);
  }
  const ShapeContext context(shapes, dtypes, node.attributes, ints);
  InferredOutputs inferred;
  try {
    inferred = infer_outputs(*node.def, context);
  } catch (const InternalError&) {
    throw;
  } catch (const Error& error) {
    std::string inputs;
    for (const Tensor& input : node.inputs) inputs += (inputs.empty() ? "" : ", ") + to_string(input);
    fail("{} {}. Inputs: {} {}", describe(node), error.what(), inputs.empty() ? "none" : inputs, made_at(node));
  }
  for (std::size_t i = 0; i < inferred.shapes.size(); ++i) {
    const auto& names = node.def->outputs;
    node.outputs.push_back({names[std::min(i, names.size() - 1)], inferred.dtypes[i], inferred.shapes[i]});
  }
  node.ints = infer_ints(*node.def, context, node.outputs);
}

}  // namespace

Node* add_op(OpRegistration def, const std::vector<Operand>& inputs, OpOptions options) {
  Graph& graph = current_graph();
  const ScopeState& scope = scope_state();
  auto node = std::make_unique<Node>();
  node->def = def;
  node->where = current_location(inputs.empty() ? Location{} : inputs.front().where());
  const std::string full = join_scope(scope.name_scope, options.name.empty() ? def->name : options.name);
  // A checkpoint finds a variable by its name.
  const auto name = [&] { return def == variable_op() ? full : graph.unique_name(full); };
  node->name = name();
  if (!options.name.empty()) check_name(options.name, describe(*node), node->where);
  check_live(*node, inputs);
  const DType dtype = common_dtype(inputs);
  for (const Operand& operand : inputs) node->inputs.push_back(operand.tensor(dtype));
  for (const int updated : def->updates)  // the variable itself, not what was read from it
    if (const auto i = static_cast<std::size_t>(updated); i < inputs.size() && inputs[i].variable())
      node->inputs[i] = inputs[i].variable();
  if (graph.around() != nullptr) {
    use_inside(*node, graph);
    node->name = name();  // an input made for it may have taken the first one
  }
  node->control_inputs = scope.control;
  if (!def->updates.empty()) apply_conditions(*node, scope);
  node->attributes = std::move(options.attributes);
  node->device = scope.device;
  node->tower = scope.replica;
  node->mark = scope.mark;
  if (def->random && node->attributes.find("seed") == nullptr)
    node->attributes.set(
        "seed", static_cast<std::int64_t>(mix_seed(seed_of(node->name), static_cast<std::uint64_t>(node->tower))));
  check_inputs(*node, graph);
  infer(*node);
  return graph.add_node(std::move(node));
}

Tensor add_tensor(OpRegistration def, const std::vector<Operand>& inputs, OpOptions options) {
  return {add_op(def, inputs, std::move(options)), 0};
}

Tensors add_tensors(OpRegistration def, const std::vector<Operand>& inputs, OpOptions options) {
  Node* node = add_op(def, inputs, std::move(options));
  Tensors out;
  for (std::size_t i = 0; i < node->outputs.size(); ++i) out.emplace_back(node, static_cast<int>(i));
  return out;
}

}  // namespace belfry
