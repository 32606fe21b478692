#include "belfry/engine/cpu/compile/snapshot_use.h"

#include <algorithm>

namespace belfry {

SnapshotUse::SnapshotUse(const Ir& ir, const std::vector<NodeId>& order, const CompileTarget& target)
    : ir_(ir), target_(target), place_(ir.nodes().size(), kNone) {
  for (int place = 0; place < static_cast<int>(order.size()); ++place) {
    const NodeId id = order[static_cast<std::size_t>(place)];
    const IrNode& node = ir.node(id);
    place_[static_cast<std::size_t>(id)] = place;
    for (const Node* flag : node.conditions) last_reader_[flag] = place;
    for (int i = 0; i < static_cast<int>(node.inputs.size()); ++i)
      if (is_read(node, i)) last_reader_[variable(node, i)] = place;
  }
}

const Node* SnapshotUse::variable(const IrNode& node, int input) const {
  return ir_.value(viewed_value(ir_, node.inputs[static_cast<std::size_t>(input)])).variable;
}

bool SnapshotUse::is_read(const IrNode& node, int input) const {
  return variable(node, input) != nullptr &&
         std::ranges::find(updated_inputs(node), input) == updated_inputs(node).end();
}

VariableSnapshot& SnapshotUse::record(const Node* variable) {
  VariableSnapshot*& known = snapshots_[variable];
  if (known == nullptr) known = &target_.snapshots->of(variable, target_.store.storage(variable));
  return *known;
}

KernelPtr SnapshotUse::pull(const Node* variable) {
  return pull_kernel(target_.store.storage(variable), record(variable));
}

KernelPtr SnapshotUse::guarded(KernelPtr kernel, NodeId id) {
  const IrNode& node = ir_.node(id);
  std::map<const Node*, SharedVariable, ByNumber> written;
  for (int i : updated_inputs(node)) {
    const Node* variable = ir_.value(node.inputs[static_cast<std::size_t>(i)]).variable;
    const auto reader = last_reader_.find(variable);
    const bool read_later = reader != last_reader_.end() && reader->second > place_[static_cast<std::size_t>(id)];
    written[variable] = {&target_.store.storage(variable), read_later ? &record(variable) : nullptr};
  }
  if (written.empty()) return kernel;
  std::vector<SharedVariable> variables;
  for (const auto& [variable, shared] : written) variables.push_back(shared);
  return shared_update_kernel(std::move(kernel), std::move(variables));
}

}  // namespace belfry
