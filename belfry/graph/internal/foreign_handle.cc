#include "belfry/graph/internal/foreign_handle.h"

#include "belfry/base/check.h"
#include "belfry/graph/graph.h"
#include "belfry/graph/internal/live_graphs.h"

namespace belfry {

bool belongs_to(const Operation& handle, const Graph& graph) {
  return handle.graph_id() == graph.id() && handle.node()->graph == &graph;
}

bool related_to(const Operation& handle, const Graph& graph) {
  return is_live_graph(handle.graph_id()) && &handle.node()->graph->outermost() == &graph.outermost();
}

std::string foreign(const Operation& handle, std::string_view place, std::string_view remedy) {
  const auto text = [&](std::string_view what, std::string_view todo) {
    return fmt::format("{}{}{}.{}{}", what, place.empty() ? "" : " ", place, todo.empty() ? "" : " ", todo);
  };
  if (!is_live_graph(handle.graph_id())) return text("a handle into a graph that is gone", kGraphIsGone);
  const Node& node = *handle.node();
  if (const ScratchNote& note = node.graph->outermost().scratch(); !note.made_in.empty())
    return text(fmt::format("'{}', which was made at {} {}", node.name, to_string(node.where), note.made_in),
                note.remedy);
  return text(fmt::format("'{}' of another graph", node.name), remedy);
}

}  // namespace belfry
