#include <algorithm>
#include <optional>
#include <set>

#include "belfry/base/check.h"
#include "belfry/base/parallel.h"
#include "belfry/engine/cpu/compile/feeds.h"
#include "belfry/engine/cpu/compile/host_kernels.h"
#include "belfry/engine/cpu/compile/part_plan.h"
#include "belfry/engine/cpu/compile/snapshot_use.h"
#include "belfry/engine/cpu/kernel/own_memory.h"
#include "belfry/engine/cpu/memory/variable_store.h"
#include "belfry/engine/engine_kinds.h"
#include "belfry/engine/part_variables.h"

namespace belfry {
namespace {

int crossing_of(const IrNode& node) { return static_cast<int>(node.attributes.integer("crossing")); }

// A "Send" that itself has to wait for another part, to pass the signal on.
KernelPtr pass_on() {
  return simple_kernel([](const Buffers&, const Step&) {});
}

// An update that happens only in runs in which all flags are true: else its variable is unchanged.
class ConditionalKernel final : public Kernel {
 public:
  ConditionalKernel(KernelPtr update, std::vector<const bool*> flags)
      : update_(std::move(update)), flags_(std::move(flags)) {}
  std::size_t scratch_bytes() const override { return update_->scratch_bytes(); }
  void bind(const Buffers& buffers) override { update_->bind(buffers); }
  void run(const Step& step) override {
    if (std::ranges::all_of(flags_, [](const bool* flag) { return *flag; })) update_->run(step);
  }
  std::string describe() const override { return update_->describe(); }
  bool is_dnnl() const override { return update_->is_dnnl(); }

 private:
  KernelPtr update_;
  std::vector<const bool*> flags_;
};

class Emitter {
 public:
  Emitter(Part part, std::vector<NodeId> order, const std::vector<Crossing>& crossings, RunSlots& slots,
          const CompileTarget& target, std::vector<HeldValue> held)
      : target_(target),
        crossings_(crossings),
        slots_(slots),
        order_(std::move(order)),
        plan_(std::make_unique<PartPlan>()) {
    plan_->ir = std::move(part.ir);
    plan_->device = part.device;
    plan_->given = {.held = std::move(held), .carried_feeds = target.carried_feeds};
    if (target.snapshots != nullptr) shared_.emplace(plan_->ir, order_, target);
  }

  std::unique_ptr<PartPlan> run() {
    make_kernels();
    plan_->memory_plan = plan_memory(ir(), order_, scratch_, plan_->given);
    base_ = target_.arenas[at(plan_->device)]->require(plan_->memory_plan.arena_bytes);
    bind();
    number_instructions();
    find_waits();
    collect_variables();
    leave_behind();
    return std::move(plan_);
  }

 private:
  Ir& ir() { return plan_->ir; }

  std::vector<TensorInfo> infos(const std::vector<ValueId>& values) {
    std::vector<TensorInfo> out;
    for (ValueId v : values) out.push_back(ir().info(v));
    return out;
  }

  bool nothing_to_run(const IrNode& node) {
    if (node.op.definition().variable && shared_ && shared_->reads(node.origin)) return false;
    if (node.op.definition().silent) return true;
    if (node.op == kSend) return !awaits_another_part(node);
    if (const KernelDef* kernel = kernel_of(node); kernel != nullptr && kernel->view) return true;
    // Empty results need no work; nodes with effects still run.
    const OpDef* def = node.def();
    if (node.outputs.empty() ||
        (def != nullptr && def->side_effect && (def->updates.empty() || ir().info(node.outputs[0]).elements() > 0)))
      return false;
    return std::ranges::all_of(node.outputs, [&](ValueId v) { return ir().info(v).elements() == 0; });
  }

  // Whether the node depends on something from another part with nothing to run in between.
  bool awaits_another_part(const IrNode& node) {
    const auto leads = [&](NodeId from) { return from != kNone && awaits_[at(from)]; };
    return std::ranges::any_of(node.after, leads) ||
           std::ranges::any_of(node.inputs, [&](ValueId v) { return leads(ir().producer(v)); });
  }

  KernelPtr make_kernel(const IrNode& node) {
    if (node.op == kSend) return pass_on();
    if (node.op.definition().variable) return shared_->pull(node.origin);
    if (node.op == kFeed) return make_feed(node);
    if (node.op == kFetch) {
      const TensorInfo& info = ir().info(node.inputs[0]);
      plan_->fetched[static_cast<int>(index_of(node))] = info;
      return fetch_kernel(&slots_.results[index_of(node)], info.bytes());
    }
    const std::vector<TensorInfo> inputs = infos(node.inputs), outputs = infos(node.outputs);
    const int threads = target_.devices[at(plan_->device)].threads;
    const TeamScope team(threads);  // oneDNN bakes the thread count into a primitive
    const KernelContext context{.inputs = inputs,
                                .outputs = outputs,
                                .attributes = &node.attributes,
                                .origin = node.origin,
                                .threads = threads,
                                .queues = target_.queues};
    if (const OpDef* def = node.def(); def != nullptr && def->host_kernel)
      return host_kernel(def->host_kernel, context);
    const KernelDef* kernel = kernel_of(node);
    BELFRY_CHECK(kernel != nullptr,
                 "{} expected an op with a kernel for {}, got {} without one {}. Register it with "
                 "define_op(...).kernel(...).",
                 describe(*node.origin), target_.devices[at(plan_->device)].name.name(), node.op.name(),
                 made_at(*node.origin));
    return kernel->make(context);
  }

  KernelPtr make_feed(const IrNode& node) {
    const void* const* slot = &slots_.feeds[index_of(node)];
    const ValueId value = node.outputs[0];
    const std::size_t bytes = ir().info(value).bytes();
    if (!lies_at_callers(ir(), value, target_.carried_feeds)) return copied_feed_kernel(slot, bytes);
    return feed_kernel(slot, bytes, *plan_->fed.emplace(value, std::make_unique<FedValue>()).first->second);
  }

  // Kernels that read feeds get their addresses in each run.
  KernelPtr reading_feeds(KernelPtr kernel, const IrNode& node) {
    std::vector<FedInput> fed;
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      if (const auto value = plan_->fed.find(viewed_value(ir(), node.inputs[i])); value != plan_->fed.end())
        fed.push_back({.index = static_cast<int>(i), .value = value->second.get()});
    return fed.empty() ? std::move(kernel) : fed_kernel(std::move(kernel), std::move(fed));
  }

  // A flag is a scalar: its memory does not move as long as the session exists.
  KernelPtr under_conditions(KernelPtr kernel, const IrNode& node) {
    if (node.conditions.empty()) return kernel;
    std::vector<const bool*> flags;
    for (const Node* variable : node.conditions)
      flags.push_back(
          static_cast<const bool*>(shared_ ? shared_->snapshot(variable) : target_.store.storage(variable).data.get()));
    return std::make_unique<ConditionalKernel>(std::move(kernel), std::move(flags));
  }

  static std::size_t index_of(const IrNode& node) { return static_cast<std::size_t>(node.attributes.integer("index")); }

  void make_kernels() {
    scratch_.assign(ir().nodes().size(), 0);
    plan_->kernels.resize(ir().nodes().size());
    awaits_.assign(ir().nodes().size(), false);
    for (NodeId id : order_) {
      if (nothing_to_run(ir().node(id))) {
        awaits_[at(id)] = ir().node(id).op == kReceive || awaits_another_part(ir().node(id));
        continue;
      }
      KernelPtr kernel = under_conditions(make_kernel(ir().node(id)), ir().node(id));
      if (shared_) kernel = shared_->guarded(std::move(kernel), id);
      kernel = reading_feeds(std::move(kernel), ir().node(id));
      scratch_[at(id)] = kernel->scratch_bytes();
      plan_->kernels[at(id)] = std::move(kernel);
    }
  }

  void* pointer(ValueId v) {
    v = plan_->memory_plan.holder(v);
    const IrValue& value = ir().value(v);
    if (value.variable != nullptr) {
      return target_.store.data_in(value.variable, value.info.layout);
    }
    if (value.leaves_device) {
      const Crossing& c = crossings_[at(value.crossing)];
      return target_.crossings.require({c.origin, c.output, c.copy}, value.info.bytes());
    }
    if (ir().is_op(v, kConstant)) return constant(ir().node(ir().producer(v)).attributes.get<Array>("value"));
    const std::size_t offset = plan_->memory_plan.offsets[at(v)];
    return offset == MemoryPlan::kNowhere ? base_ : base_ + offset;
  }

  void* constant(const Array& value) {
    plan_->constants.push_back(value);
    return plan_->constants.back().raw();
  }

  void bind() {
    for (NodeId id : order_) {
      Kernel* kernel = plan_->kernels[at(id)].get();
      if (kernel == nullptr) continue;
      const IrNode& node = ir().node(id);
      Buffers buffers;
      for (int i = 0; i < static_cast<int>(node.inputs.size()); ++i)
        buffers.inputs.push_back(shared_ && shared_->is_read(node, i) ? shared_->snapshot(shared_->variable(node, i))
                                                                      : pointer(node.inputs[at(i)]));
      for (ValueId v : node.outputs) buffers.outputs.push_back(pointer(v));
      const std::size_t scratch = plan_->memory_plan.scratch[at(id)];
      if (scratch != MemoryPlan::kNowhere) buffers.scratch = base_ + scratch;
      kernel->bind(buffers);
    }
  }

  void number_instructions() {
    position_.assign(ir().nodes().size(), kNone);
    finished_.assign(ir().nodes().size(), kNone);
    for (NodeId id : order_) {
      if (plan_->kernels[at(id)] == nullptr) continue;
      position_[at(id)] = finished_[at(id)] = static_cast<int>(plan_->instructions.size());
      if (const NodeId update = ir().node(id).completes; update != kNone) finished_[at(update)] = position_[at(id)];
      plan_->instructions.push_back({.kernel = plan_->kernels[at(id)].get(), .node = id});
    }
  }

  // Every instruction and "Receive" that the node directly depends on, seen through nodes that run nothing.
  std::vector<NodeId> sources(const IrNode& node) {
    std::vector<NodeId> out, open;
    std::set<NodeId> seen;
    const auto follow = [&](const IrNode& reader) {
      for (ValueId v : reader.inputs) open.push_back(ir().producer(v));
      open.insert(open.end(), reader.after.begin(), reader.after.end());
    };
    follow(node);
    while (!open.empty()) {
      const NodeId from = open.back();
      open.pop_back();
      if (from == kNone || ir().node(from).dead || !seen.insert(from).second) continue;
      if (position_[at(from)] != kNone || ir().node(from).op == kReceive)
        out.push_back(from);
      else
        follow(ir().node(from));
    }
    return out;
  }

  void find_waits() {
    const bool receives = std::ranges::any_of(order_, [&](NodeId id) { return ir().node(id).op == kReceive; });
    for (NodeId id : order_) {
      const IrNode& node = ir().node(id);
      const int here = position_[at(id)];
      if (node.op != kSend && (here == kNone || !receives)) continue;
      int done = here + 1;
      for (NodeId from : sources(node)) {
        if (here != kNone && position_[at(from)] == kNone)
          plan_->needed_at.try_emplace(crossing_of(ir().node(from)), here);
        done = std::max(done, finished_[at(from)] + 1);
      }
      if (node.op != kSend) continue;
      plan_->done_at[crossing_of(node)] = done;
      if (!node.inputs.empty()) send(crossing_of(node), node.inputs[0]);
    }
  }

  void send(int crossing, ValueId v) {
    plan_->sent[crossing] = ir().info(v);
    if (ir().value(v).leaves_device || ir().info(v).bytes() == 0) return;
    plan_->left.push_back(
        {crossing, plan_->memory_plan.offsets[at(plan_->memory_plan.holder(v))], ir().info(v).bytes()});
  }

  void leave_behind() {
    std::vector<HeldValue> stays;
    for (const HeldValue& value : plan_->given.held)
      if (!value.ends) stays.push_back(value);
    stays.insert(stays.end(), plan_->left.begin(), plan_->left.end());
    if (!stays.empty()) plan_->leaves = std::make_shared<LeftInArena>(std::move(stays));
  }

  void collect_variables() {
    note_variables(
        *plan_, ir(), order_, [&](ValueId v) { return ir().value(plan_->memory_plan.holder(v)).variable; },
        [&](NodeId id) { return position_[at(id)]; });
  }

  const CompileTarget& target_;
  const std::vector<Crossing>& crossings_;
  RunSlots& slots_;
  std::vector<NodeId> order_;
  std::unique_ptr<PartPlan> plan_;
  std::vector<std::size_t> scratch_;
  std::byte* base_ = nullptr;
  std::vector<char> awaits_;   // by node that runs nothing: it may have to wait for another part
  std::vector<int> position_;  // by node: its instruction, or kNone
  std::vector<int> finished_;  // by node: the instruction that ends it
  std::optional<SnapshotUse> shared_;
};

}  // namespace

std::unique_ptr<PartPlan> emit(Part part, std::vector<NodeId> order, const std::vector<Crossing>& crossings,
                               RunSlots& slots, const CompileTarget& target, std::vector<HeldValue> held) {
  return Emitter(std::move(part), std::move(order), crossings, slots, target, std::move(held)).run();
}

void PartPlan::launch(PartRun& run) const {
  const bool alone = run.alone();
  for (int i = 0; i < static_cast<int>(instructions.size()); ++i) {
    const Instruction& instruction = instructions[at(i)];
    if (!alone && !run.await(i)) return;
    if (run.profiler() == nullptr) {
      instruction.kernel->run(run.step());
    } else {
      const std::int64_t begin = Profiler::now();
      instruction.kernel->run(run.step());
      const IrNode& node = ir.node(instruction.node);
      run.profiler()->record(
          {node.origin->name, node.op.name(), device, instruction.kernel->is_dnnl(), begin, Profiler::now()});
    }
    if (!alone) run.done(i + 1);
  }
}

PartMemory PartPlan::memory() const {
  PartMemory out{.arena = memory_plan.arena_bytes, .kernels = own_bytes()};
  for (const Array& constant : constants) out.constants.emplace_back(constant.raw(), constant.bytes());
  return out;
}

std::size_t PartPlan::own_bytes() const {
  std::size_t total = 0;
  for (const Instruction& instruction : instructions)
    if (const auto* owner = dynamic_cast<const OwnMemory*>(instruction.kernel)) total += owner->own_bytes();
  return total;
}

}  // namespace belfry
