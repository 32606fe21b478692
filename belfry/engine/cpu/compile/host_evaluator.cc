// Single nodes, computed from plain arrays with the CPU's kernels.
#include <algorithm>

#include "belfry/base/check.h"
#include "belfry/base/parallel.h"
#include "belfry/engine/cpu/compile/part_plan.h"
#include "belfry/engine/cpu/memory/variable_store.h"
#include "belfry/engine/engine_kinds.h"
#include "belfry/engine/evaluator.h"

namespace belfry {
namespace {

// A part of one node: its inputs are fed, its outputs fetched; the variables it updates are in a separate store.
class OneNodePart final : public NodeProgram {
 public:
  OneNodePart(const Ir& whole, const IrNode& node, const Device& device, QueueStore* queues) {
    IrNode copy = node;
    copy.after.clear();
    copy.conditions.clear();
    copy.device = 0;
    const std::vector<int>& updated = updated_inputs(node);
    Part part;
    std::vector<TensorInfo> infos;
    for (ValueId v : node.outputs) infos.push_back({.dtype = whole.info(v).dtype, .shape = whole.info(v).shape});
    for (int i = 0; i < static_cast<int>(node.inputs.size()); ++i) {
      const ValueId v = node.inputs[static_cast<std::size_t>(i)];
      const bool update = std::ranges::find(updated, i) != updated.end();
      variables_.push_back(update ? whole.value(v).variable : nullptr);
      copy.inputs[static_cast<std::size_t>(i)] = add_input(part.ir, whole.info(v), node.origin, i);
    }
    const NodeId made = part.ir.add_node(std::move(copy), infos);
    part.ir.roots.push_back(made);
    for (int i = 0; i < static_cast<int>(infos.size()); ++i) add_fetch(part.ir, made, i);
    slots_.feeds.assign(variables_.size(), nullptr);
    slots_.results.assign(infos.size(), nullptr);
    outputs_ = std::move(infos);
    arenas_.push_back(std::make_unique<Arena>(Arena::For::one_plan));
    const CompileTarget target{
        .store = store_, .arenas = arenas_, .crossings = crossings_, .devices = {{.name = device}}, .queues = queues};
    order_variables(part.ir);
    plan_ = compile_part(std::move(part), {}, slots_, target);
  }

  std::vector<Array> run(const Step& step, std::span<Array> inputs) override {
    std::vector<Array> results;
    for (const TensorInfo& info : outputs_) results.emplace_back(info.dtype, info.shape);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      slots_.feeds[i] = inputs[i].raw();
      if (variables_[i] != nullptr) store_.set(variables_[i], inputs[i]);
    }
    for (std::size_t i = 0; i < results.size(); ++i) slots_.results[i] = results[i].raw();
    const TeamScope one(1);
    for (const Instruction& instruction : plan_->instructions) instruction.kernel->run(step);
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (variables_[i] != nullptr) inputs[i] = store_.get(variables_[i]);
    return results;
  }

 private:
  ValueId add_input(Ir& ir, const TensorInfo& info, const Node* reader, int index) {
    const Node* variable = variables_.back();
    const NodeId id = ir.add_node({.op = variable == nullptr ? kFeed : variable->def->kind,
                                   .origin = variable == nullptr ? reader : variable,
                                   .attributes = {{"index", static_cast<std::int64_t>(index)}}},
                                  {{.dtype = info.dtype, .shape = info.shape}});
    const ValueId out = ir.node(id).outputs[0];
    ir.value(out).variable = variable;
    return out;
  }

  static void add_fetch(Ir& ir, NodeId node, int output) {
    ir.roots.push_back(ir.add_node({.op = kFetch,
                                    .origin = ir.node(node).origin,
                                    .inputs = {ir.node(node).outputs[static_cast<std::size_t>(output)]},
                                    .attributes = {{"index", static_cast<std::int64_t>(output)}}},
                                   {}));
  }

  VariableStore store_;
  std::vector<std::unique_ptr<Arena>> arenas_;
  CrossingMemory crossings_;
  RunSlots slots_;
  std::vector<TensorInfo> outputs_;
  std::vector<const Node*> variables_;  // by input: the variable that it updates, or null
  std::unique_ptr<PartPlan> plan_;
};

class HostEvaluator final : public Evaluator {
 public:
  bool can_evaluate(const IrNode& node) const override {
    if (!is_pure(node)) return false;
    // Kernels that choose layouts cannot be run on plain arrays alone.
    const KernelDef* kernel = kernel_of(node);
    return kernel != nullptr && kernel->layouts != KernelDef::Layouts::rule;
  }

  std::vector<Array> evaluate(const IrNode& node, const std::vector<Array>& inputs,
                              const std::vector<TensorInfo>& outputs) const override {
    const KernelDef* def = kernel_of(node);
    BELFRY_BUG_IF(def == nullptr, "op {} has no kernel", node.op.name());
    const TeamScope one(1);
    std::vector<TensorInfo> infos;
    Buffers buffers;
    for (const Array& a : inputs) {
      infos.push_back({.dtype = a.dtype(), .shape = a.shape()});
      buffers.inputs.push_back(a.raw());
    }
    std::vector<Array> results;
    for (const TensorInfo& info : outputs) results.emplace_back(info.dtype, info.shape);
    for (Array& a : results) buffers.outputs.push_back(a.raw());
    const KernelPtr kernel = def->make(
        {.inputs = infos, .outputs = outputs, .attributes = &node.attributes, .origin = node.origin, .threads = 1});
    const Array scratch(DType::u8, {static_cast<std::int64_t>(kernel->scratch_bytes())});
    buffers.scratch = const_cast<void*>(scratch.raw());
    kernel->bind(buffers);
    kernel->run({});
    return results;
  }

  double flops(OpKind op, const Work& work) const override { return flops_of(find_kernel(op), work); }

  std::unique_ptr<NodeProgram> program(const Ir& ir, const IrNode& node, const Device& device,
                                       QueueStore* queues) const override {
    return std::make_unique<OneNodePart>(ir, node, device, queues);
  }
};

const EvaluatorRegistration host_evaluator = register_evaluator(std::make_unique<HostEvaluator>());

}  // namespace
}  // namespace belfry
