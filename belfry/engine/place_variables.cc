#include <algorithm>
#include <map>

#include "belfry/base/check.h"
#include "belfry/engine/engine_kinds.h"
#include "belfry/engine/passes.h"

namespace belfry {
namespace {

class Placing {
 public:
  Placing(Ir& ir, const std::vector<DeviceInfo>& devices) : ir_(ir), devices_(devices) {}

  void run() {
    for (NodeId id = 0, last = static_cast<NodeId>(ir_.nodes().size()); id < last; ++id) {
      move_update(id);
      const IdList inputs = ir_.node(id).inputs;
      for (std::size_t i = 0; i < inputs.size(); ++i)
        if (ir_.value(inputs[i]).variable != nullptr && !is_near(id, inputs[i])) read_from_afar(id, i);
    }
    if (!copies_.empty()) ir_.reorder(topological(ir_));  // numbers are an order, too
  }

 private:
  const std::string& kind_of(NodeId id) const {
    return devices_[static_cast<std::size_t>(ir_.node(id).device)].name.kind();
  }
  bool is_near(NodeId id, ValueId variable) const { return kind_of(id) == kind_of(ir_.producer(variable)); }

  // Nodes that update a variable, or read it after an update, run where the variable lives.
  void move_update(NodeId id) {
    const std::vector<int>& updated = updated_inputs(ir_.node(id));
    if (updated.empty() && ir_.node(id).op != kReadVariable) return;
    const ValueId first = ir_.node(id).inputs[static_cast<std::size_t>(updated.empty() ? 0 : updated[0])];
    const NodeId home = ir_.producer(first);
    if (home == kNone || ir_.value(first).variable == nullptr) return;
    if (kind_of(home) != kind_of(id)) ir_.change(id, [&](IrNode& changed) { changed.device = ir_.node(home).device; });
    for (int other : updated) {
      const ValueId v = ir_.node(id).inputs[static_cast<std::size_t>(other)];
      if (const Node* variable = ir_.value(v).variable) check_near(id, *variable, kind_of(ir_.producer(v)));
    }
    for (const Node* flag : ir_.node(id).conditions)
      check_near(id, *flag, flag->device.empty() ? devices_[0].name.kind() : flag->device.kind());
  }

  void check_near(NodeId id, const Node& variable, const std::string& kind) const {
    BELFRY_CHECK(kind == kind_of(id),
                 "{} expected the variables that it updates and its conditions to live on one kind of device, got "
                 "'{}' on {} and the update on {} {}. Make them in one DeviceScope.",
                 describe(*ir_.node(id).origin), variable.name, kind, kind_of(id), made_at(*ir_.node(id).origin));
  }

  // Its value at the start of the run is copied where it lives, and the copy is sent.
  void read_from_afar(NodeId id, std::size_t input) {
    if (const OpDef* def = ir_.node(id).def(); def != nullptr && def->uses_only_shape(static_cast<int>(input))) return;
    const ValueId variable = ir_.node(id).inputs[input];
    const auto [at, added] = copies_.try_emplace(variable, kNone);
    if (added) {
      const NodeId home = ir_.producer(variable);
      const NodeId copy = ir_.add_node({.op = kSnapshot,
                                        .origin = ir_.node(home).origin,
                                        .inputs = {variable},
                                        .device = ir_.node(home).device,
                                        .rank = home},
                                       {ir_.info(variable)});
      at->second = ir_.node(copy).outputs[0];
    }
    ir_.change(id, [&](IrNode& node) { node.inputs[input] = at->second; });
  }

  Ir& ir_;
  const std::vector<DeviceInfo>& devices_;
  std::map<ValueId, ValueId> copies_;  // of variables
};

}  // namespace

void place_variables(Ir& ir, const std::vector<DeviceInfo>& devices) {
  const bool one_kind = std::ranges::all_of(
      devices, [&](const DeviceInfo& device) { return device.name.kind() == devices[0].name.kind(); });
  if (!one_kind) Placing(ir, devices).run();
}

}  // namespace belfry
