#include "belfry/graph/internal/graph_transaction.h"

#include "belfry/graph/graph.h"

namespace belfry {

GraphTransaction::GraphTransaction(Graph& graph)
    : graph_(graph),
      nodes_(graph.nodes_.size()),
      variables_(graph.variables_.size()),
      gradients_(graph.kept_gradients_.size()),
      scopes_(graph.scope_history_.size()),
      layers_(graph.layers_.size()),
      collections_(graph.collections_.sizes()) {}

GraphTransaction::~GraphTransaction() {
  Graph& g = graph_;
  if (kept_ || g.compiled_nodes_.load(std::memory_order_relaxed) > nodes_) return;
  g.collections_.shrink_to(collections_);
  g.variables_.resize(variables_);
  g.kept_gradients_.resize(gradients_);
  g.layers_.resize(layers_);
  // Handles to the nodes may be left somewhere: they stay valid, as those of another graph.
  if (!g.taken_back_) g.taken_back_ = std::make_unique<Graph>();
  Graph& other = *g.taken_back_;
  other.scratch_ = g.outermost().scratch_;
  for (std::size_t i = nodes_; i < g.nodes_.size(); ++i) {
    std::unique_ptr<Node>& node = g.nodes_[i];
    g.by_name_.erase(node->name);
    if (auto record = g.records_.extract(node.get())) other.records_.insert(std::move(record));
    node->graph = &other;
    node->id = static_cast<int>(other.nodes_.size());
    other.nodes_.push_back(std::move(node));
  }
  g.nodes_.resize(nodes_);
  for (; g.scope_history_.size() > scopes_; g.scope_history_.pop_back()) {
    const auto& [name, count] = g.scope_history_.back();
    if (count == 0)
      g.opened_scopes_.erase(name);
    else
      g.opened_scopes_[name] = count;
  }
  g.next_suffix_.clear();  // only where a search for a free name begins
}

}  // namespace belfry
