#include "belfry/nn/slot_variables.h"

#include "belfry/graph/graph.h"
#include "belfry/graph/internal/foreign_handle.h"
#include "belfry/graph/scope.h"
#include "belfry/nn/initializers.h"

namespace belfry {

Variable SlotVariables::get(const Variable& owner, const std::string& full_name, const Shape& shape, DType dtype,
                            const Initializer& initializer) {
  const auto key = std::make_pair(static_cast<const Node*>(owner.node()), full_name);
  Graph& graph = *owner.node()->graph;
  // A node of a destroyed graph may have had the same address.
  if (const auto at = made_.find(key); at != made_.end() && belongs_to(at->second.handle(), graph)) return at->second;
  const bool owner_is_saved = graph.collections().contains(collection::kGlobalVariables, owner);
  const GraphScope root(graph);  // the name is complete: no scope adds to it
  const DeviceScope device(owner.node()->device);
  const ReplicaScope replica(owner.node()->tower, graph.record(owner.node()).tower_prefix);
  return made_[key] =
             new_variable(full_name, {.shape = shape,
                                      .dtype = dtype,
                                      .initializer = initializer ? initializer : init::zeros(),
                                      .collections = {std::string(owner_is_saved ? collection::kGlobalVariables
                                                                                 : collection::kLocalVariables)}});
}

Variable SlotVariables::like(const Variable& owner, const std::string& name) {
  return get(owner, owner.name() + "/" + name, owner.shape(), owner.dtype());
}

Variable SlotVariables::copy_of(const Variable& owner, const std::string& name) {
  return get(owner, owner.name() + "/" + name, owner.shape(), owner.dtype(),
             [owner](const Shape&, DType) { return owner.handle(); });
}

}  // namespace belfry
