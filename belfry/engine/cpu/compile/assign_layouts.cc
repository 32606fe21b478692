#include <algorithm>
#include <set>
#include <unordered_map>

#include "belfry/base/check.h"
#include "belfry/base/parallel.h"
#include "belfry/engine/cpu/compile/passes.h"
#include "belfry/engine/cpu/kernel/layout_kinds.h"
#include "belfry/engine/cpu/memory/variable_store.h"
#include "belfry/engine/engine_kinds.h"
#include "belfry/engine/node_table.h"

namespace belfry {
namespace {

class LayoutPass {
 public:
  LayoutPass(Ir& ir, VariableStore& store, const std::vector<DeviceInfo>& devices,
             const std::vector<Crossing>& crossings)
      : ir_(ir), store_(store), devices_(devices), crossings_(crossings) {}

  void run() {
    const std::vector<NodeId> order = topological(ir_);
    decide_variables(order);
    for (NodeId id : order) visit(id);
    refresh_copies(order);
  }

 private:
  const Node* variable_of(ValueId v) const {
    return ir_.op_of(v).definition().variable ? ir_.value(v).variable : nullptr;
  }

  KernelContext context_of(const IrNode& node) {
    inputs_.clear();
    outputs_.clear();
    for (ValueId v : node.inputs) inputs_.push_back(ir_.info(v));
    for (ValueId v : node.outputs) outputs_.push_back(ir_.info(v));
    return {.inputs = inputs_,
            .outputs = outputs_,
            .attributes = &node.attributes,
            .origin = node.origin,
            .threads = threads_of(node)};
  }
  int threads_of(const IrNode& node) const { return devices_[static_cast<std::size_t>(node.device)].threads; }

  // A variable takes the layout of its first consumer with a preference; its slots follow it.
  void decide_variables(const std::vector<NodeId>& order) {
    NodeTable<char> trained;
    for (const Node* variable : ir_.trained) trained[variable] = 1;
    for (NodeId id : order)
      for (int i : updated_inputs(ir_.node(id)))
        trained[ir_.value(ir_.node(id).inputs[static_cast<std::size_t>(i)]).variable] = 1;
    for (NodeId id : order) {
      const IrNode& node = ir_.node(id);
      const KernelDef* kernel = kernel_of(node);
      if (kernel == nullptr || kernel->layouts != KernelDef::Layouts::rule || kernel->follows) continue;
      const TeamScope team(threads_of(node));
      const LayoutChoice choice = kernel->rule(context_of(node));
      for (std::size_t i = 0; i < node.inputs.size(); ++i)
        if (const Node* variable = variable_of(node.inputs[i]))
          store_.decide_layout(variable, choice.inputs[i], trained[variable] != 0);
    }
    for (NodeId id : order) {
      const IrNode& node = ir_.node(id);
      const std::vector<int>& updated = updated_inputs(node);
      for (std::size_t k = 1; k < updated.size(); ++k) {
        const Node* main = ir_.value(node.inputs[static_cast<std::size_t>(updated[0])]).variable;
        const Node* slot = ir_.value(node.inputs[static_cast<std::size_t>(updated[k])]).variable;
        if (slot->outputs[0].shape == main->outputs[0].shape)
          store_.decide_layout(slot, store_.storage(main).info.layout, true);
      }
    }
    follow_others(order);
    for (IrValue& value : ir_.values)
      if (value.variable != nullptr) value.info.layout = store_.storage(value.variable).info.layout;
  }

  // A sum of gradients, an average of weights, a copy: no consumer prefers a layout. It takes that of the variable of
  // its shape that it is computed from, or that is computed from it, so that no step has to reorder between them.
  void follow_others(const std::vector<NodeId>& order) {
    NodeTable<char> free;  // written, and only by kernels that take any layout
    for (const bool any_layout : {true, false})
      for (NodeId id : order)
        for (int i : updated_inputs(ir_.node(id))) {
          const KernelDef* kernel = kernel_of(ir_.node(id));
          const Node* written = ir_.value(ir_.node(id).inputs[static_cast<std::size_t>(i)]).variable;
          if ((kernel != nullptr && kernel->layouts == KernelDef::Layouts::blind) != any_layout) continue;
          free[written] = any_layout;
        }
    const auto follow = [&](const Node* one, const Node* other) {
      if (!free[one]) return;
      const VariableStore::Storage& to = store_.storage(other);
      if (store_.storage(one).decided == VariableStore::Storage::Decided::no &&
          to.decided != VariableStore::Storage::Decided::no)
        store_.decide_layout(one, to.info.layout, true);
    };
    for (NodeId id : order)
      for (int i : updated_inputs(ir_.node(id))) {
        const Node* written = ir_.value(ir_.node(id).inputs[static_cast<std::size_t>(i)]).variable;
        for (ValueId v : ir_.node(id).inputs)
          for (const Node* read : variables_behind(v, written->outputs[0].shape)) {
            follow(written, read);
            follow(read, written);
          }
      }
  }

  bool is_elementwise(ValueId v) const {
    const NodeId producer = ir_.producer(v);
    const KernelDef* kernel = producer == kNone ? nullptr : kernel_of(ir_.node(producer));
    return kernel != nullptr && kernel->elementwise;
  }

  // The variables of this shape that a value is read from or computed from, element by element.
  const std::set<const Node*, ByNumber>& variables_behind(ValueId value, const Shape& shape) {
    constexpr std::size_t kMostLookedAt = 8;
    behind_.clear();
    IdList open{value};
    for (std::size_t k = 0; k < open.size() && k < kMostLookedAt; ++k) {
      const ValueId v = open[k];
      if (!(ir_.info(v).shape == shape)) continue;
      if (ir_.value(v).variable != nullptr) {
        behind_.insert(ir_.value(v).variable);
      } else if (is_elementwise(v)) {
        const IdList& inputs = ir_.node(ir_.producer(v)).inputs;
        open.insert(open.end(), inputs.begin(), inputs.end());
      }
    }
    return behind_;
  }

  void visit(NodeId id) {
    const IrNode& node = ir_.node(id);
    // A value arrives, and crosses to other parts, in the layout it was made in; but plain if it goes through the
    // host.
    if (node.op.definition().source || (node.op == kSend && !goes_through_host(node))) return;
    const KernelDef* kernel = kernel_of(node);
    LayoutChoice choice{std::vector<Layout>(node.inputs.size()), std::vector<Layout>(node.outputs.size())};
    if (kernel != nullptr && kernel->layouts == KernelDef::Layouts::rule) {
      const TeamScope team(threads_of(node));
      choice = kernel->rule(context_of(node));
    } else if (kernel != nullptr && kernel->layouts == KernelDef::Layouts::blind) {
      choice = blind(node, *kernel);
    }
    for (std::size_t i = 0; i < choice.inputs.size(); ++i) {
      const ValueId v = ir_.node(id).inputs[i];
      if (ir_.is_op(v, kShapeOnly) || ir_.info(v).layout == choice.inputs[i]) continue;
      const ValueId moved = reordered(v, choice.inputs[i], id);
      ir_.change(id, [&](IrNode& changed) { changed.inputs[i] = moved; });
    }
    for (std::size_t i = 0; i < choice.outputs.size(); ++i) {
      IrValue& value = ir_.value(ir_.node(id).outputs[i]);
      if (value.variable == nullptr) value.info.layout = choice.outputs[i];
    }
    for (const auto& [output, shape] : choice.workspaces)
      ir_.value(ir_.node(id).outputs[static_cast<std::size_t>(output)]).info.shape = shape;
  }

  bool goes_through_host(const IrNode& send) const {
    return crossings_[static_cast<std::size_t>(send.attributes.integer("crossing"))].through_host;
  }

  // All full-shaped operands in one layout, if there is one that the kernel can take; else plain.
  LayoutChoice blind(const IrNode& node, const KernelDef& kernel) {
    LayoutChoice choice{std::vector<Layout>(node.inputs.size()), std::vector<Layout>(node.outputs.size())};
    const Shape& shape = ir_.info(node.outputs.empty() ? node.inputs[0] : node.outputs[0]).shape;
    Layout common;
    bool number = false;
    for (ValueId v : node.inputs) {
      const TensorInfo& info = ir_.info(v);
      if (info.elements() == 1 && info.layout.plain()) {
        number = true;
        continue;
      }
      if (!(info.shape == shape)) return choice;
      if (common.plain() && !info.layout.plain() && info.dtype == DType::f32) common = info.layout;
    }
    for (int i : updated_inputs(node)) common = ir_.info(node.inputs[static_cast<std::size_t>(i)]).layout;
    // With a number among the operands zeros need not stay zero (0 + 1); updates handle their own.
    const bool clean = kernel.zero_stays_zero && (!number || !updated_inputs(node).empty());
    if (common.plain() || (has_padding(common) && !clean)) return choice;
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      if (ir_.info(node.inputs[i]).shape == shape) choice.inputs[i] = common;
    for (std::size_t i = 0; i < node.outputs.size(); ++i)
      if (ir_.info(node.outputs[i]).shape == shape) choice.outputs[i] = common;
    return choice;
  }

  ValueId reordered(ValueId v, const Layout& layout, NodeId reader) {
    for (const auto& [target, made] : reorders_[v])
      if (target == layout) return made;
    TensorInfo info = ir_.info(v);
    info.layout = layout;
    const Node* variable = variable_of(v);
    const bool copy = variable != nullptr && !layout.plain() && !store_.shared();
    IrNode node{.op = copy ? kVariableCopy : kReorder,
                .origin = ir_.node(reader).origin,
                .inputs = {v},
                .device = ir_.node(reader).device,
                .rank = reader};
    const ValueId made = ir_.node(ir_.add_node(std::move(node), {info})).outputs[0];
    if (copy) bind_copy(made, variable, layout);
    reorders_[v].emplace_back(layout, made);
    return made;
  }

  // The value's memory is a copy that the store keeps in this layout.
  void bind_copy(ValueId v, const Node* variable, const Layout& layout) {
    store_.make_copy(variable, layout);
    ir_.value(v).variable = variable;
    ir_.value(v).info.layout = layout;
  }

  // An op that writes a variable also updates its copies: in the same pass if it can, else with a reorder.
  void refresh_copies(const std::vector<NodeId>& order) {
    for (NodeId id : order)
      for (int i : std::vector(updated_inputs(ir_.node(id)))) {
        const ValueId source = ir_.node(id).inputs[static_cast<std::size_t>(i)];
        const Node* variable = ir_.value(source).variable;
        const VariableStore::Storage& storage = store_.storage(variable);
        for (const VariableStore::Copy& copy : std::vector(storage.copies))
          if (!(copy.layout == storage.info.layout))  // of a time when the variable had another layout
            refresh(id, source, copy.layout, i == updated_inputs(ir_.node(id))[0]);
      }
  }

  void refresh(NodeId id, ValueId source, const Layout& layout, bool main) {
    const Node* variable = ir_.value(source).variable;
    TensorInfo info = store_.storage(variable).info;
    const KernelDef* kernel = kernel_of(ir_.node(id));
    if (main && kernel->writes_copy && ir_.node(id).outputs.size() == 1 && kernel->writes_copy(info, layout)) {
      return bind_copy(ir_.add_output(id, info), variable, layout);
    }
    info.layout = layout;
    IrNode node{.op = kReorder,
                .origin = ir_.node(id).origin,
                .inputs = {source},
                .after = {id},
                .device = ir_.node(id).device,
                .completes = id};
    const NodeId made = ir_.add_node(std::move(node), {info});
    bind_copy(ir_.node(made).outputs[0], variable, layout);
    ir_.roots.push_back(made);
  }

  Ir& ir_;
  VariableStore& store_;
  const std::vector<DeviceInfo>& devices_;
  const std::vector<Crossing>& crossings_;
  std::vector<TensorInfo> inputs_, outputs_;
  std::set<const Node*, ByNumber> behind_;  // what variables_behind() has found
  std::unordered_map<ValueId, std::vector<std::pair<Layout, ValueId>>> reorders_;
};

}  // namespace

void assign_layouts(Ir& ir, VariableStore& store, const std::vector<DeviceInfo>& devices,
                    const std::vector<Crossing>& crossings) {
  LayoutPass(ir, store, devices, crossings).run();
}

}  // namespace belfry
