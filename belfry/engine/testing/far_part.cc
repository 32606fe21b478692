#include "belfry/engine/testing/far_part.h"

#include <algorithm>
#include <cstring>
#include <exception>

#include "belfry/base/check.h"
#include "belfry/base/mutex.h"
#include "belfry/engine/engine_kinds.h"
#include "belfry/engine/part_variables.h"
#include "belfry/engine/testing/far_thread.h"
#include "belfry/engine/testing/ops_run.h"

namespace belfry {
namespace {

int index_of(const IrNode& node, const char* attribute) { return static_cast<int>(node.attributes.integer(attribute)); }

}  // namespace

struct FarPart::State {
  State(PartRequest request, const Place& p, FarPart& part)
      : place(p), slots(request.slots), crossings(request.crossings), ir(std::move(request.part.ir)) {
    order_variables(ir);
    order = topological(ir);
    values.resize(ir.values.size());
    programs.resize(ir.nodes().size());
    for (NodeId id : order) {
      link(ir.node(id), part);
      if (is_computed(ir.node(id))) programs[at(id)] = evaluator().program(ir, ir.node(id), place.device, place.queues);
    }
    note_variables(part, ir, order, [&](ValueId v) { return ir.value(v).variable; }, [](NodeId) { return 0; });
    for (const Node* variable : part.written) place.variables.initialized(variable);  // made now, not in a run
  }

  // Whether the node is left to the evaluator; run_node() does the others.
  static bool is_computed(const IrNode& node) {
    return !node.op.definition().silent && node.op != kFeed && node.op != kSend && node.op != kFetch &&
           node.op != kSnapshot;
  }

  // Records what the rest of the run has to know about the node. The part has a single position.
  void link(const IrNode& node, FarPart& part) {
    if (node.op == kReceive) {
      part.needed_at[index_of(node, "crossing")] = 0;
      if (!node.outputs.empty() && ir.value(node.outputs[0]).crossing != kNone)
        make_room(index_of(node, "crossing"), ir.info(node.outputs[0]));
    }
    if (node.op == kFetch) part.fetched[index_of(node, "index")] = ir.info(node.inputs[0]);
    if (node.op == kSend) {
      const int crossing = index_of(node, "crossing");
      part.done_at[crossing] = 1;
      if (!node.inputs.empty()) {
        part.sent[crossing] = ir.info(node.inputs[0]);
        make_room(crossing, ir.info(node.inputs[0]));
      }
    }
  }

  CrossingMemory::Key key_of(int crossing) const {
    const Crossing& c = crossings[at(crossing)];
    return {c.origin, c.output, c.copy};
  }
  // So that a run makes none.
  void make_room(int crossing, const TensorInfo& info) {
    if (crossings[at(crossing)].through_host)
      on_host[crossing] = place.host_crossings.require(key_of(crossing), info.bytes());
    else if (FarArray& room = place.far_crossings[key_of(crossing)]; room.bytes() < info.bytes())
      room = FarArray(DType::u8, {static_cast<std::int64_t>(info.bytes())});
  }

  void run(const Step& step) {
    for (NodeId id : order) run_node(id, step);
    for (std::optional<FarArray>& value : values) value.reset();
  }

  void store(ValueId v, const Array& value) {
    values[at(v)].emplace(value.dtype(), value.shape());
    values[at(v)]->put(value.raw());
  }

  Array load(ValueId v) const {
    if (ir.op_of(v).definition().variable) return place.variables.get(ir.value(v).variable);
    if (!values[at(v)]) return Array(ir.info(v).dtype, ir.info(v).shape);  // only its shape is used
    return values[at(v)]->get();
  }

  void run_node(NodeId id, const Step& step) {
    const IrNode& node = ir.node(id);
    if (programs[at(id)] != nullptr) return compute(id, step);
    if (node.op == kConstant) return store(node.outputs[0], node.attributes.get<Array>("value"));
    if (node.op == kReceive) return receive(node);
    if (node.op == kFeed) return feed(node);
    if (node.op == kSend) return send(node);
    if (node.op == kFetch) return fetch(node);
    if (node.op == kSnapshot) return store(node.outputs[0], load(node.inputs[0]));
  }

  void feed(const IrNode& node) {
    const TensorInfo& info = ir.info(node.outputs[0]);
    values[at(node.outputs[0])].emplace(info.dtype, info.shape);
    values[at(node.outputs[0])]->put(slots.feeds[at(index_of(node, "index"))]);
  }

  void fetch(const IrNode& node) {
    const Array value = load(node.inputs[0]);
    if (value.bytes() > 0) std::memcpy(slots.results[at(index_of(node, "index"))], value.raw(), value.bytes());
  }

  void receive(const IrNode& node) {
    if (node.outputs.empty() || ir.value(node.outputs[0]).crossing == kNone) return;  // an event, or a shape
    const int crossing = index_of(node, "crossing");
    const TensorInfo& info = ir.info(node.outputs[0]);
    Array value(info.dtype, info.shape);
    if (crossings[at(crossing)].through_host) {
      if (info.bytes() > 0) std::memcpy(value.raw(), on_host.at(crossing), info.bytes());
    } else {
      const Array bytes = place.far_crossings.at(key_of(crossing)).get();
      if (info.bytes() > 0) std::memcpy(value.raw(), bytes.raw(), info.bytes());
    }
    store(node.outputs[0], value);
  }

  void send(const IrNode& node) {
    if (node.inputs.empty()) return;
    const int crossing = index_of(node, "crossing");
    const Array value = load(node.inputs[0]);
    if (crossings[at(crossing)].through_host) {
      if (value.bytes() > 0) std::memcpy(on_host.at(crossing), value.raw(), value.bytes());
      return;
    }
    FarArray& room = place.far_crossings.at(key_of(crossing));
    Array bytes(DType::u8, {static_cast<std::int64_t>(room.bytes())});
    if (value.bytes() > 0) std::memcpy(bytes.raw(), value.raw(), value.bytes());
    room.put(bytes.raw());
  }

  void compute(NodeId id, const Step& step) {
    const IrNode& node = ir.node(id);
    note_op_run(node.op.name());
    const std::vector<int>& updated = updated_inputs(node);
    std::optional<MutexLock<Mutex>> lock;
    if (!updated.empty()) lock.emplace(place.variables.updating);
    if (!std::ranges::all_of(node.conditions, [&](const Node* flag) { return place.variables.get(flag).item() != 0; }))
      return store(node.outputs[0], load(node.inputs[at(updated[0])]));
    std::vector<Array> inputs;
    for (ValueId v : node.inputs) inputs.push_back(load(v));
    const std::vector<Array> outputs = programs[at(id)]->run(step, inputs);
    for (int i : updated) place.variables.set(ir.value(node.inputs[at(i)]).variable, inputs[at(i)]);
    for (std::size_t i = 0; i < outputs.size(); ++i) store(node.outputs[i], outputs[i]);
  }

  Place place;
  RunSlots& slots;
  std::vector<Crossing> crossings;
  Ir ir;
  std::vector<NodeId> order;
  std::map<int, void*> on_host;                        // by crossing that goes through the host
  std::vector<std::optional<FarArray>> values;         // by value
  std::vector<std::unique_ptr<NodeProgram>> programs;  // by node; null for what is not computed

  Mutex mutex;
  Condition finished;
  bool is_done BELFRY_GUARDED_BY(mutex) = false, has_run BELFRY_GUARDED_BY(mutex) = false;
  std::exception_ptr error BELFRY_GUARDED_BY(mutex);
};

FarPart::FarPart(PartRequest request, const Place& place) {
  device = request.part.device;
  state_ = std::make_unique<State>(std::move(request), place, *this);
}

FarPart::~FarPart() = default;

void FarPart::launch(PartRun& run) const {
  {
    const MutexLock lock(state_->mutex);
    state_->is_done = state_->has_run = false;
    state_->error = nullptr;
  }
  state_->place.thread.post([state = state_.get(), &run] {
    std::exception_ptr error;
    bool has_run = false;
    try {
      if (run.alone() || run.await(0)) {
        state->run(run.step());
        has_run = true;
      }
    } catch (...) {
      error = std::current_exception();
    }
    const MutexLock lock(state->mutex);
    state->is_done = true;
    state->has_run = has_run;
    state->error = error;
    state->finished.notify_all();
  });
}

void FarPart::wait(PartRun& run) const {
  const MutexLock lock(state_->mutex);
  while (!state_->is_done) state_->finished.wait(state_->mutex);
  if (state_->error) std::rethrow_exception(state_->error);
  if (state_->has_run && !run.alone()) run.done(1);
}

void FarPart::explain(Explanation& out) const {
  for (NodeId id : state_->order)
    out.text += fmt::format("{:4}  {}  {:28} '{}'\n", out.instructions++, out.name_of(device),
                            state_->ir.node(id).op.name(), state_->ir.node(id).origin->name);
}

}  // namespace belfry
