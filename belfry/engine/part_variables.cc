#include "belfry/engine/part_variables.h"

#include <algorithm>

namespace belfry {

void note_variables(CompiledPart& part, const Ir& ir, const std::vector<NodeId>& order,
                    FunctionRef<const Node*(ValueId)> variable_in, FunctionRef<int(NodeId)> position) {
  const auto input = [&](const IrNode& node, int i) { return node.inputs[static_cast<std::size_t>(i)]; };
  std::vector<const Node*> read, written;  // as often as they are
  for (NodeId id : order) {
    const IrNode& node = ir.node(id);
    const int here = position(id);
    const bool overwrites = node.op.definition().overwrites && !node.functional && node.conditions.empty();
    for (int i = 0; i < static_cast<int>(node.inputs.size()); ++i) {
      const Node* variable = variable_in(input(node, i));
      if (variable == nullptr) continue;
      if (here != kNone) part.last_read[variable] = here;
      const bool overwrites_all = overwrites && i == updated_inputs(node)[0];
      if (!overwrites_all && !part.assigned.contains(variable)) read.push_back(variable);
    }
    if (overwrites) part.assigned.insert(ir.value(input(node, updated_inputs(node)[0])).variable);
    for (int i : updated_inputs(node)) {
      const Node* variable = ir.value(input(node, i)).variable;
      written.push_back(variable);
      if (here != kNone) part.first_write.try_emplace(variable, here);
    }
  }
  for (auto* list : {&read, &written}) {
    std::ranges::sort(*list, {}, &Node::id);
    list->erase(std::ranges::unique(*list).begin(), list->end());
  }
  part.read = std::move(read);
  part.written = std::move(written);
}

}  // namespace belfry
