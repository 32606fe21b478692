#include "belfry/nn/layer.h"

#include <algorithm>

#include "belfry/base/check.h"
#include "belfry/base/log.h"
#include "belfry/graph/graph.h"
#include "belfry/graph/internal/graph_transaction.h"
#include "belfry/graph/internal/name_check.h"
#include "belfry/graph/variable_scope.h"
#include "belfry/ops/basic.h"
#include "belfry/tower/tower_context.h"

namespace belfry {
namespace {

// Records the layer's line for describe_layers(): once per layer, however many towers or uses it has.
void note_shapes(const std::string& scope, const Tensor& x, const Tensor& y) {
  const TowerContext* tower = current_tower_context_or_null();
  const bool first = tower == nullptr || (tower->index() == 0 && tower->has_own_variables());
  if (!first) return;
  const std::size_t prefix =
      tower == nullptr || tower->variable_scope().empty() ? 0 : tower->variable_scope().size() + 1;
  const std::string name = scope.substr(prefix);
  Graph& graph = current_graph().outermost();
  if (std::ranges::find(graph.layers(), name, &LayerShapes::name) != graph.layers().end()) return;
  graph.add_layer({.name = name, .input = x.shape(), .output = y.shape()});
  if (log_enabled(LogLevel::debug))
    log_debug(fmt::format("{}  input {} -> output {}", name, to_string(x.shape()), to_string(y.shape())));
}

}  // namespace

Layer::Layer(std::string_view name, Body body, const Location& where)
    : name_(name), body_(std::move(body)), where_(where) {
  BELFRY_CHECK(!name_.empty(),
               "[layer] expected a name, got an empty one (at {}). Its variables and its output are named after it.",
               to_string(where));
  check_name(name, fmt::format("[layer '{}']", name), where);
  BELFRY_CHECK(static_cast<bool>(body_), "[layer '{}'] expected a function, got an empty one (at {})", name,
               to_string(where));
}

Tensor Layer::operator()(const Tensor& x) const {
  BELFRY_CHECK(static_cast<bool>(x), "[layer '{}'] expected a tensor, got an empty handle (at {})", name_,
               to_string(where_));
  const LocationScope location(where_);
  GraphTransaction transaction(current_graph());
  const VariableScope scope(name_);
  const Tensor y = body_(x);
  BELFRY_CHECK(static_cast<bool>(y),
               "[layer '{}'] expected its function to return a tensor, got an empty handle (at {})", name_,
               to_string(where_));
  const bool named = y.output() == 0 && y.node()->name == scope.name_scope() + "/output";
  BELFRY_CHECK(named || !current_graph().has_name(scope.name_scope() + "/output"),
               "[layer '{}'] expected its function to return the tensor that it names 'output', got {} (at {}). Return "
               "that one, or choose another name for it.",
               name_, to_string(y), to_string(where_));
  const Tensor output = named ? y : identity(y, "output");
  note_shapes(scope.name(), x, output);
  transaction.keep();
  return output;
}

}  // namespace belfry
