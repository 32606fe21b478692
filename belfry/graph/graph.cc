#include "belfry/graph/graph.h"

#include <algorithm>
#include <charconv>

#include "belfry/base/check.h"
#include "belfry/base/internal/nearest.h"
#include "belfry/graph/internal/live_graphs.h"
#include "belfry/graph/internal/scope_state.h"

namespace belfry {

Graph::Graph() : Graph(nullptr) {}
Graph::Graph(Graph* around) : id_(add_live_graph()), around_(around) {}
Graph::~Graph() { remove_live_graph(id_); }

Tensor Graph::capture(const Tensor& outer) {
  const Tensor source = &outer.graph() == around_ || around_->around_ == nullptr ? outer : around_->capture(outer);
  const auto at = std::ranges::find(captures_, source, &std::pair<Tensor, Tensor>::first);
  if (at != captures_.end()) return at->second;
  auto node = std::make_unique<Node>();
  node->def = find_op("Placeholder");
  node->name = unique_name("captured");
  node->where = outer.node()->where;
  node->attributes = {{"dtype", outer.dtype()}, {"shape", outer.shape()}};
  node->outputs = {{"value", outer.dtype(), outer.shape()}};
  return captures_.emplace_back(source, Tensor(add_node(std::move(node)), 0)).second;
}

namespace {

void check_lives(GraphId graph, std::string_view what) {
  BELFRY_CHECK(is_live_graph(graph), "[{}] expected a handle into a graph that exists, got one whose graph is gone. {}",
               what, kGraphIsGone);
}

const Node& checked(const Tensor& tensor) {
  BELFRY_CHECK(static_cast<bool>(tensor),
               "[Tensor] expected a tensor, got an empty handle. An unconnected gradient is empty: test it first.");
  check_lives(tensor.graph_id(), "Tensor");
  return *tensor.node();
}

const Node& checked(const Operation& operation) {
  BELFRY_CHECK(static_cast<bool>(operation), "[Operation] expected an operation, got an empty handle. Test it first.");
  check_lives(operation.graph_id(), "Operation");
  return *operation.node();
}

}  // namespace

Tensor::Tensor(Node* node, int output)
    : node_(node), output_(output), graph_id_(node == nullptr || node->graph == nullptr ? 0 : node->graph->id()) {}

const Shape& Tensor::shape() const { return checked(*this).outputs[static_cast<std::size_t>(output_)].shape; }
DType Tensor::dtype() const { return checked(*this).outputs[static_cast<std::size_t>(output_)].dtype; }
Graph& Tensor::graph() const { return *checked(*this).graph; }
std::string Tensor::name() const {
  if (node_ == nullptr) return "(none)";
  const std::string& name = checked(*this).name;
  return output_ == 0 ? name : name + ":" + std::to_string(output_);
}

const std::string& Operation::name() const { return checked(*this).name; }
const std::string& Operation::type() const { return checked(*this).def->name; }
int Operation::outputs() const { return static_cast<int>(checked(*this).outputs.size()); }
Tensor Operation::output(int index) const {
  BELFRY_CHECK(index >= 0 && index < outputs(), "{} expected an output below {}, got {} {}", describe(*node_),
               outputs(), index, made_at(*node_));
  return {node_, index};
}

std::string describe(const Node& node) { return fmt::format("[{} '{}']", node.def->name, node.name); }
std::string made_at(const Node& node) { return fmt::format("(made at {})", to_string(node.where)); }

Operation Graph::get_operation_by_name(std::string_view name) const {
  if (const auto at = by_name_.find(name); at != by_name_.end()) return Operation(at->second);
  std::vector<std::string> names;
  for (const auto& [key, node] : by_name_) names.push_back(key);
  fail("[graph] expected the name of an operation, got '{}'.{}", name, did_you_mean(name, names));
}

Tensor Graph::find_tensor(std::string_view name) const {
  int output = 0;
  std::string_view base = name;
  if (const auto colon = name.rfind(':'); colon != std::string_view::npos) {
    const auto digits = name.substr(colon + 1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), output);
    if (error == std::errc{} && end == digits.data() + digits.size()) base = name.substr(0, colon);
  }
  const auto at = by_name_.find(base);
  if (at == by_name_.end() || output < 0 || output >= static_cast<int>(at->second->outputs.size())) return {};
  return {at->second, output};
}

Tensor Graph::get_tensor_by_name(std::string_view name) const {
  if (const Tensor found = find_tensor(name)) return found;
  std::vector<std::string> names;
  for (const auto& [key, node] : by_name_)
    if (!node->outputs.empty()) names.push_back(key);
  fail("[graph] expected the name of a tensor, got '{}'.{}", name, did_you_mean(name, names));
}

Variable Graph::find_variable(std::string_view name) const {
  const auto at = by_name_.find(name);
  return at != by_name_.end() && records_.contains(at->second) ? Variable(at->second) : Variable();
}

Variable Graph::get_variable_by_name(std::string_view name) const {
  if (const Variable found = find_variable(name)) return found;
  std::vector<std::string> names;
  for (const Variable& v : variables_) names.push_back(v.name());
  fail("[graph] expected the name of a variable, got '{}'.{}", name, did_you_mean(name, names));
}

std::vector<Operation> Graph::operations() const {
  std::vector<Operation> out;
  for (const auto& node : nodes_) out.emplace_back(node.get());
  return out;
}

const VariableRecord& Graph::record(const Node* variable) const {
  const auto at = records_.find(variable);
  BELFRY_BUG_IF(at == records_.end(), "'{}' is not a variable", variable->name);
  return at->second;
}

Tensor Graph::size_inside(const Node* outer) const {
  const auto found = sizes_inside_.find(outer);
  // What a failed definition had made is no longer in this graph.
  return found == sizes_inside_.end() || &found->second.graph() != this ? Tensor() : found->second;
}

Node* Graph::add_node(std::unique_ptr<Node> node) {
  BELFRY_CHECK(!finalized_,
               "{} expected a graph that is still being defined, got a finalised one (the run phase has begun). "
               "Add ops before the trainer initialises or the graph is finalised {}.",
               describe(*node), made_at(*node));
  if (const auto at = by_name_.find(node->name); at != by_name_.end())
    fail(
        "{} expected a name not in use, got that of {} {}; the new one is at {}. Choose another name or open a "
        "NameScope.",
        describe(*node), describe(*at->second), made_at(*at->second), to_string(node->where));
  node->graph = this;
  node->id = static_cast<int>(nodes_.size());
  by_name_[node->name] = node.get();
  nodes_.push_back(std::move(node));
  return nodes_.back().get();
}

Variable Graph::add_variable(Node* node, VariableRecord record) {
  records_[node] = record;
  return variables_.emplace_back(node);
}

std::string Graph::unique_name(const std::string& wanted) const {
  if (!by_name_.contains(wanted)) return wanted;
  for (int& k = next_suffix_[wanted];;) {
    std::string name = wanted + "_" + std::to_string(++k);
    if (!by_name_.contains(name)) return name;
  }
}

std::string Graph::open_scope(const std::string& wanted) {
  const auto set = [this](const std::string& name, int count) {
    int& now = opened_scopes_[name];
    scope_history_.emplace_back(name, now);
    now = count;
  };
  const auto at = opened_scopes_.find(wanted);
  int count = at == opened_scopes_.end() ? 0 : at->second;
  std::string name = wanted;
  while (count > 0 && opened_scopes_.contains(name = wanted + "_" + std::to_string(count))) ++count;
  set(wanted, count + 1);
  if (name != wanted) set(name, 1);
  return name;
}

std::int64_t Graph::keep_gradient(GradientRule rule) {
  kept_gradients_.push_back(std::move(rule));
  return static_cast<std::int64_t>(kept_gradients_.size()) - 1;
}

}  // namespace belfry
