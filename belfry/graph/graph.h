// Graph: the define phase. Operations are added under scopes; finalize() ends it; nothing executes here.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "belfry/graph/collections.h"
#include "belfry/graph/node.h"
#include "belfry/graph/tensor.h"
#include "belfry/graph/variable.h"

#pragma GCC visibility push(default)
namespace belfry {

// The shapes of a layer's input and output: a line of describe_layers() (belfry/nn).
struct LayerShapes {
  std::string name;  // without a tower's prefix
  Shape input{}, output{};
};

// For the error about a scratch graph's handle that is used elsewhere: where it was made ("in a call that ..."), and
// what to do instead.
struct ScratchNote {
  std::string made_in{}, remedy{};
};

// The end of the error about a handle into a graph that is gone.
inline constexpr std::string_view kGraphIsGone =
    "A graph ends with the trainer or the block that owns it: keep the owner, or take the handle from the graph in "
    "use.";

class Graph {
 public:
  Graph();
  explicit Graph(Graph* around);  // a sub-graph: see subgraph.h
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  // After this, adding an op throws an error that names it. Sessions do not require it; trainers call it.
  void finalize() { finalized_ = true; }
  bool finalized() const { return finalized_; }

  GraphId id() const { return id_; }

  // The seed that every random op's own seed is mixed with.
  void set_seed(std::uint64_t seed) { seed_ = seed; }
  std::uint64_t seed() const { return seed_; }

  // Look up by name; throws with the nearest names if there is none.
  Tensor get_tensor_by_name(std::string_view name) const;  // "conv0/output", "split:1"
  Operation get_operation_by_name(std::string_view name) const;
  Variable get_variable_by_name(std::string_view name) const;
  Tensor find_tensor(std::string_view name) const;  // empty if there is none
  Variable find_variable(std::string_view name) const;
  std::vector<Operation> operations() const;  // in creation order

  const std::vector<Variable>& variables() const { return variables_; }  // every one, in creation order
  const VariableRecord& record(const Node* variable) const;

  Collections& collections() { return collections_; }
  const Collections& collections() const { return collections_; }

  // The layers of the model, each once, in the order in which they were finished.
  const std::vector<LayerShapes>& layers() const { return layers_; }
  void add_layer(LayerShapes layer) { layers_.push_back(std::move(layer)); }

  // Of a sub-graph: the graph around it (else nullptr), the outermost one (else itself), and the placeholder that
  // stands for a tensor of a graph around it. Captures are in the order they were first used.
  Graph* around() const { return around_; }
  Graph& outermost() { return around_ == nullptr ? *this : around_->outermost(); }
  const Graph& outermost() const { return around_ == nullptr ? *this : around_->outermost(); }
  Tensor capture(const Tensor& outer);
  const std::vector<std::pair<Tensor, Tensor>>& captures() const { return captures_; }  // (outer, inner)
  // The copy, made inside, of a size in a graph around it; empty if there is no copy.
  Tensor size_inside(const Node* outer) const;
  Tensor keep_size(const Node* outer, const Tensor& inner) { return sizes_inside_[outer] = inner; }

  // A scratch graph is never run, and its handles are of no use in another graph. The code that makes one passes it to
  // keep() of the real graph, so that later use of such a handle gives an error that tells what happened.
  void mark_scratch(ScratchNote note) { scratch_ = std::move(note); }
  const ScratchNote& scratch() const { return scratch_; }  // empty unless marked
  void keep(std::unique_ptr<Graph> scratch) { kept_.push_back(std::move(scratch)); }

  // For add_op(), get_variable() and the compiler.
  int next_mark() { return ++marks_; }  // numbers the segments and passes of recompute
  Node* add_node(std::unique_ptr<Node> node);
  Variable add_variable(Node* node, VariableRecord record);
  std::span<const std::unique_ptr<Node>> nodes() const { return nodes_; }
  std::string unique_name(const std::string& wanted) const;
  // Reserves a name scope ("block" or, if it was opened before, "block_1").
  std::string open_scope(const std::string& wanted);
  bool has_name(std::string_view name) const { return by_name_.contains(name); }
  // A session has compiled part of the graph: from now on, no transaction takes back what is in it.
  void mark_compiled() { compiled_nodes_.store(nodes_.size(), std::memory_order_relaxed); }
  // Gradient functions given at run time (custom_gradient); the id goes into an attribute.
  std::int64_t keep_gradient(GradientRule rule);
  const GradientRule& kept_gradient(std::int64_t id) const { return kept_gradients_[static_cast<std::size_t>(id)]; }

 private:
  friend class GraphTransaction;

  const GraphId id_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::map<std::string, Node*, std::less<>> by_name_;
  std::map<std::string, int, std::less<>> opened_scopes_;
  std::vector<std::pair<std::string, int>> scope_history_;  // each change of the above: the name, and its count before
  mutable std::map<std::string, int, std::less<>> next_suffix_;  // only saves searching from 1
  std::vector<Variable> variables_;
  std::map<const Node*, VariableRecord> records_;
  std::vector<GradientRule> kept_gradients_;
  Collections collections_{this};
  std::vector<LayerShapes> layers_;
  ScratchNote scratch_;
  std::vector<std::unique_ptr<Graph>> kept_;
  std::unique_ptr<Graph> taken_back_;  // keeps alive what failed definitions had made
  std::uint64_t seed_ = 0;
  bool finalized_ = false;
  std::atomic<std::size_t> compiled_nodes_ = 0;  // several sessions may compile at once
  Graph* around_ = nullptr;
  std::vector<std::pair<Tensor, Tensor>> captures_;
  std::map<const Node*, Tensor> sizes_inside_;
  int marks_ = 0;
};

// The graph that ops are added to; throws if no GraphScope is active.
Graph& current_graph();
Graph* current_graph_or_null();
Graph* chosen_graph_or_null();  // current by a GraphScope, not by a DefaultGraph

struct OpOptions {
  std::string_view name = "";  // under the current name scope; empty: the op's type
  Attributes attributes{};
};

// Adds an op to the current graph (the operands' graph must be the same one). Checks the number of inputs, runs the
// shape rule, applies the scopes. A name that exists already gets _1, _2, ...; for a variable it is an error.
Node* add_op(OpRegistration def, const std::vector<Operand>& inputs, OpOptions options = {});
// The usual case: one output.
Tensor add_tensor(OpRegistration def, const std::vector<Operand>& inputs, OpOptions options = {});
// All outputs.
Tensors add_tensors(OpRegistration def, const std::vector<Operand>& inputs, OpOptions options = {});

}  // namespace belfry
#pragma GCC visibility pop
