#include "belfry/engine/emit.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "belfry/base/check.h"
#include "belfry/base/parallel.h"
#include "belfry/engine/variable_store.h"

namespace belfry {
namespace {

// Copies between the caller's memory and a buffer; the caller's pointer is in a slot that changes from run to run.
class FeedKernel final : public Kernel {
 public:
  FeedKernel(const void** slot, std::size_t bytes) : slot_(slot), bytes_(bytes) {}
  void bind(Buffers buffers) override { to_ = buffers.outputs[0]; }
  void run(const Step&) override { copy_bytes(to_, *slot_, bytes_); }
  static void copy_bytes(void* to, const void* from, std::size_t bytes) {
    parallel_for(static_cast<std::int64_t>(bytes), 1 << 18, [&](std::int64_t begin, std::int64_t end) {
      std::memcpy(static_cast<char*>(to) + begin, static_cast<const char*>(from) + begin,
                  static_cast<std::size_t>(end - begin));
    });
  }

 private:
  const void** slot_;
  std::size_t bytes_;
  void* to_ = nullptr;
};

class FetchKernel final : public Kernel {
 public:
  FetchKernel(void** slot, std::size_t bytes) : slot_(slot), bytes_(bytes) {}
  void bind(Buffers buffers) override { from_ = buffers.inputs[0]; }
  void run(const Step&) override { FeedKernel::copy_bytes(*slot_, from_, bytes_); }

 private:
  void** slot_;
  std::size_t bytes_;
  const void* from_ = nullptr;
};

// A user's op: arrays over the plan's memory, made once. What its kernel throws is passed on with the op and its line.
class HostKernelAdapter final : public Kernel {
 public:
  HostKernelAdapter(const HostKernel& function, const KernelContext& context)
      : function_(function),
        origin_(*context.origin),
        inputs_(context.inputs.begin(), context.inputs.end()),
        outputs_(context.outputs.begin(), context.outputs.end()) {}
  void bind(Buffers b) override {
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      ins_.emplace_back(inputs_[i].dtype, inputs_[i].shape, const_cast<void*>(b.inputs[i]), nullptr);
    for (std::size_t i = 0; i < outputs_.size(); ++i)
      outs_.emplace_back(outputs_[i].dtype, outputs_[i].shape, b.outputs[i], nullptr);
    buffers_ = b.outputs;
  }
  void run(const Step&) override {
    try {
      function_(ins_, outs_);
      for (std::size_t i = 0; i < outs_.size(); ++i) keep(i);
    } catch (const NumericError& error) {
      rethrow<NumericError>(error);
    } catch (const FileError& error) {
      rethrow<FileError>(error);
    } catch (const std::exception& error) {
      rethrow<Error>(error);
    }
  }
  std::string describe() const override { return "user"; }

 private:
  // `out[0] = in[0]` replaces the handle instead of filling the buffer: what it holds is copied in.
  void keep(std::size_t i) {
    if (outs_[i].raw() == buffers_[i]) return;
    BELFRY_CHECK(outs_[i].dtype() == outputs_[i].dtype && outs_[i].shape() == outputs_[i].shape,
                 "expected output {} of {} {}, got {} {}. Write into its values()", i, name_of(outputs_[i].dtype),
                 to_string(outputs_[i].shape), name_of(outs_[i].dtype()), to_string(outs_[i].shape()));
    if (outs_[i].bytes() > 0) std::memcpy(buffers_[i], outs_[i].raw(), outs_[i].bytes());
    outs_[i] = Array(outputs_[i].dtype, outputs_[i].shape, buffers_[i], nullptr);
  }

  template <class ErrorType>
  [[noreturn]] void rethrow(const std::exception& error) const {
    fail<ErrorType>("{} {} {}", belfry::describe(origin_), error.what(), made_at(origin_));
  }

  const HostKernel& function_;
  const Node& origin_;
  std::vector<TensorInfo> inputs_, outputs_;
  std::vector<Array> ins_, outs_;
  std::vector<void*> buffers_;
};

}  // namespace

class Emitter {
 public:
  Emitter(Ir ir, const Signature& signature, const CompileTarget& target)
      : target_(target), plan_(std::make_unique<Plan>()) {
    plan_->ir_ = std::move(ir);
    plan_->feed_slots_.assign(signature.feeds.size(), nullptr);
    plan_->fetch_slots_.assign(signature.fetches.size(), nullptr);
    plan_->fetched_.resize(signature.fetches.size());
  }

  std::unique_ptr<Plan> run() {
    order_ = schedule(ir());
    make_kernels();
    plan_->memory_ = plan_memory(ir(), order_, scratch_, static_cast<int>(target_.devices.size()));
    for (std::size_t d = 0; d < target_.devices.size(); ++d)
      bases_.push_back(target_.arenas[d]->require(plan_->memory_.arena_bytes[d]));
    bind();
    link();
    collect_variables();
    plan_->generation_ = target_.store.generation();
    return std::move(plan_);
  }

 private:
  Ir& ir() { return plan_->ir_; }

  std::vector<TensorInfo> infos(const std::vector<ValueId>& values) {
    std::vector<TensorInfo> out;
    for (ValueId v : values) out.push_back(ir().info(v));
    return out;
  }

  bool nothing_to_run(const IrNode& node) {
    if (node.op == "Variable" || node.op == "VariableCopy" || node.op == "Constant" || node.op == "ShapeOnly" ||
        node.op == "NoOp")
      return true;
    if (const KernelDef* kernel = find_kernel(node.op); kernel != nullptr && kernel->view) return true;
    // Empty results need no work; what has an effect of its own still runs.
    const OpDef* def = node.def();
    if (node.outputs.empty() ||
        (def != nullptr && def->side_effect && (def->updates.empty() || ir().info(node.outputs[0]).elements() > 0)))
      return false;
    return std::ranges::all_of(node.outputs, [&](ValueId v) { return ir().info(v).elements() == 0; });
  }

  KernelPtr make_kernel(const IrNode& node) {
    if (node.op == "Feed")
      return std::make_unique<FeedKernel>(&plan_->feed_slots_[index_of(node)], ir().info(node.outputs[0]).bytes());
    if (node.op == "Fetch") {
      plan_->fetched_[index_of(node)] = ir().info(node.inputs[0]);
      return std::make_unique<FetchKernel>(&plan_->fetch_slots_[index_of(node)], ir().info(node.inputs[0]).bytes());
    }
    const std::vector<TensorInfo> inputs = infos(node.inputs), outputs = infos(node.outputs);
    const int threads = target_.devices[static_cast<std::size_t>(node.device)].threads;
    const TeamScope team(threads);  // oneDNN bakes the thread count into a primitive
    const KernelContext context{.inputs = inputs,
                                .outputs = outputs,
                                .attributes = &node.attributes,
                                .origin = node.origin,
                                .threads = threads};
    if (const OpDef* def = node.def(); def != nullptr && def->host_kernel)
      return std::make_unique<HostKernelAdapter>(def->host_kernel, context);
    const KernelDef* kernel = find_kernel(node.op);
    BELFRY_CHECK(
        kernel != nullptr,
        "{} expected an op with a CPU kernel, got {} without one {}. Register it with define_op(...).kernel(...).",
        describe(*node.origin), node.op, made_at(*node.origin));
    return kernel->make(context);
  }

  static std::size_t index_of(const IrNode& node) { return static_cast<std::size_t>(node.attributes.integer("index")); }

  void make_kernels() {
    scratch_.assign(ir().nodes.size(), 0);
    plan_->kernels_.resize(ir().nodes.size());
    for (NodeId id : order_) {
      if (nothing_to_run(ir().node(id))) continue;
      KernelPtr kernel = make_kernel(ir().node(id));
      scratch_[static_cast<std::size_t>(id)] = kernel->scratch_bytes();
      plan_->kernels_[static_cast<std::size_t>(id)] = std::move(kernel);
    }
  }

  void* pointer(ValueId v) {
    while (plan_->memory_.same_as[static_cast<std::size_t>(v)] != kNone)
      v = plan_->memory_.same_as[static_cast<std::size_t>(v)];
    const IrValue& value = ir().value(v);
    if (value.variable != nullptr) {
      VariableStore::Storage& s = target_.store.storage(value.variable);
      return value.copy == kNone ? s.data.get() : s.copies[static_cast<std::size_t>(value.copy)].data.get();
    }
    if (ir().is_op(v, "Constant")) return constant(ir().node(value.producer).attributes.get<Array>("value"));
    const std::size_t offset = plan_->memory_.offsets[static_cast<std::size_t>(v)];
    std::byte* base = bases_[static_cast<std::size_t>(ir().node(value.producer).device)];
    return offset == MemoryPlan::kNowhere ? base : base + offset;
  }

  void* constant(const Array& value) {
    plan_->constants_.push_back(value);
    return plan_->constants_.back().raw();
  }

  void bind() {
    for (NodeId id : order_) {
      Kernel* kernel = plan_->kernels_[static_cast<std::size_t>(id)].get();
      if (kernel == nullptr) continue;
      const IrNode& node = ir().node(id);
      Buffers buffers;
      for (ValueId v : node.inputs) buffers.inputs.push_back(pointer(v));
      for (ValueId v : node.outputs) buffers.outputs.push_back(pointer(v));
      const std::size_t scratch = plan_->memory_.scratch[static_cast<std::size_t>(id)];
      if (scratch != MemoryPlan::kNowhere) buffers.scratch = bases_[static_cast<std::size_t>(node.device)] + scratch;
      kernel->bind(std::move(buffers));
    }
  }

  // What must have finished before a node runs, seen through nodes that run nothing.
  void collect_waits(NodeId from, int device, std::set<int>& waits) {
    if (from == kNone || ir().node(from).dead) return;
    if (const auto at = instruction_of_.find(from); at != instruction_of_.end()) {
      if (ir().node(from).device != device) waits.insert(at->second);
      return;
    }
    for (ValueId v : ir().node(from).inputs) collect_waits(ir().value(v).producer, device, waits);
    for (NodeId before : ir().node(from).after) collect_waits(before, device, waits);
  }

  void link() {
    plan_->streams_.resize(target_.devices.size());
    for (NodeId id : order_) {
      Kernel* kernel = plan_->kernels_[static_cast<std::size_t>(id)].get();
      if (kernel == nullptr) continue;
      const IrNode& node = ir().node(id);
      std::set<int> waits;
      for (ValueId v : node.inputs) collect_waits(ir().value(v).producer, node.device, waits);
      for (NodeId before : node.after) collect_waits(before, node.device, waits);
      for (int before : waits) plan_->instructions_[static_cast<std::size_t>(before)].signals = true;
      const int index = static_cast<int>(plan_->instructions_.size());
      instruction_of_[id] = index;
      plan_->instructions_.push_back(
          {.kernel = kernel, .node = id, .device = node.device, .waits = {waits.begin(), waits.end()}});
      plan_->streams_[static_cast<std::size_t>(node.device)].push_back(index);
    }
    while (plan_->streams_.size() > 1 && plan_->streams_.back().empty()) plan_->streams_.pop_back();
    plan_->events_ = std::make_unique<std::atomic<std::uint64_t>[]>(plan_->instructions_.size());
  }

  void collect_variables() {
    std::set<const Node*> read, written, assigned;  // assigned: wholly, by what came before
    for (NodeId id : order_) {
      const IrNode& node = ir().node(id);
      for (int i = 0; i < static_cast<int>(node.inputs.size()); ++i)
        if (const Node* variable = ir().value(node.inputs[static_cast<std::size_t>(i)]).variable) {
          const bool overwrites_all = node.op == "Assign" && i == 0;
          if (!overwrites_all && !assigned.contains(variable)) read.insert(variable);
        }
      if (node.op == "Assign") assigned.insert(ir().value(node.inputs[0]).variable);
      for (int i : updated_inputs(node)) written.insert(ir().value(node.inputs[static_cast<std::size_t>(i)]).variable);
    }
    plan_->variables_.assign(read.begin(), read.end());
    plan_->assigned_.assign(written.begin(), written.end());
    for (auto* list : {&plan_->variables_, &plan_->assigned_}) std::ranges::sort(*list, {}, &Node::id);
    for (const Node* variable : plan_->variables_)
      plan_->variables_ready_.push_back(&target_.store.storage(variable).initialized);
    for (const Node* variable : plan_->assigned_)
      plan_->assigned_ready_.push_back(&target_.store.storage(variable).initialized);
  }

  const CompileTarget& target_;
  std::unique_ptr<Plan> plan_;
  std::vector<NodeId> order_;
  std::vector<std::size_t> scratch_;
  std::vector<std::byte*> bases_;
  std::map<NodeId, int> instruction_of_;
};

std::unique_ptr<Plan> emit(Ir ir, const Signature& signature, const CompileTarget& target) {
  return Emitter(std::move(ir), signature, target).run();
}

}  // namespace belfry
