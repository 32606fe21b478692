// A node's level counts the crossings on the longest path that leads to it: between devices, and from data to a shape
// that follows from it. Nodes of one device and level form a part: what they wait for lies in the part itself or in
// parts of lower levels, so parts sorted by level are one global order, and no two streams can wait for each other.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "belfry/base/check.h"
#include "belfry/engine/engine_kinds.h"
#include "belfry/engine/known_values.h"
#include "belfry/engine/passes.h"

namespace belfry {
namespace {

// Variables, constants and what is fed are everywhere: each part that uses one has it.
bool placeless(const IrNode& node) { return node.op.definition().everywhere && node.after.empty(); }

// Whether the node's shape follows from the elements of this input, which are known only in a run.
bool awaits_size(const IrNode& node, int input, FromShapes& from_shapes) {
  return node.def() != nullptr && std::ranges::find(node.def()->sizes, input) != node.def()->sizes.end() &&
         !from_shapes(node.inputs[static_cast<std::size_t>(input)]);
}

class Partitioner {
 public:
  Partitioner(Ir ir, const std::vector<DeviceInfo>& devices) : ir_(std::move(ir)), devices_(devices) {
    order_reads_and_writes();
    find_levels();
  }

  Partition run() {
    collect_parts();
    for (NodeId id : order_) place(id);
    for (NodeId root : ir_.roots) out_.parts[part_of(root)].ir.roots.push_back(local_.at({part_of(root), root}));
    for (const auto& [hazard, writer] : hazards_) add_hazard(hazard, writer);
    share_trained();
    return std::move(out_);
  }

 private:
  struct ReadBeforeWrite {
    NodeId reader, writer;
  };
  using ValuesInParts = std::map<std::pair<std::size_t, ValueId>, ValueId>;  // (part, value) -> its value there

  // Reads that must come before writes. Inside a part they are ordered after fusion (order_variables again), so the
  // edges found here do not enter the parts, where they would keep nodes from being fused; only if some read needs a
  // copy of its own does the whole outcome.
  void order_reads_and_writes() {
    Ir ordered = ir_;
    order_variables(ordered);
    for (NodeId id = 0; id < static_cast<NodeId>(ordered.nodes().size()); ++id) {
      const std::size_t known = at(id) < ir_.nodes().size() ? ir_.node(id).after.size() : 0;
      for (std::size_t k = known; k < ordered.node(id).after.size(); ++k)
        before_.push_back({.reader = ordered.node(id).after[k], .writer = id});
    }
    if (ordered.nodes().size() > ir_.nodes().size()) ir_ = std::move(ordered);
  }

  void find_levels() {
    Ir ordered = ir_;
    for (const ReadBeforeWrite& edge : before_)
      ordered.change(edge.writer, [&](IrNode& writer) { writer.after.push_back(edge.reader); });
    order_ = topological(ordered);
    level_.assign(ir_.nodes().size(), 0);
    for (NodeId id : order_) {
      const IrNode& node = ordered.node(id);
      const auto follow = [&](NodeId from, bool awaited) {
        if (from == kNone || placeless(ordered.node(from))) return;
        const bool crosses = awaited || ordered.node(from).device != node.device;
        level_[at(id)] = std::max(level_[at(id)], level_[at(from)] + crosses);
      };
      bool planned_late = false;
      for (int i = 0; i < static_cast<int>(node.inputs.size()); ++i) {
        const bool awaited = awaits_size(node, i, from_shapes_);
        planned_late |= awaited;
        follow(ordered.producer(node.inputs[at(i)]), awaited);
      }
      for (NodeId from : node.after) follow(from, false);
      if (planned_late) cuts_.insert(level_[at(id)]);
    }
    for (const ReadBeforeWrite& edge : before_)
      if (ir_.node(edge.reader).device != ir_.node(edge.writer).device)
        for (int input : updated_inputs(ir_.node(edge.writer)))
          hazards_.emplace_back(std::pair(ir_.value(ir_.node(edge.writer).inputs[at(input)]).variable, edge.reader),
                                edge.writer);
  }

  void collect_parts() {
    for (NodeId id : order_)
      if (!placeless(ir_.node(id)) || is_root(id)) numbers_.try_emplace({level_[at(id)], ir_.node(id).device}, 0);
    for (auto& [key, number] : numbers_) {
      number = out_.parts.size();
      Part part{.number = static_cast<int>(number), .device = key.second};
      out_.parts.push_back(std::move(part));
    }
    for (int level : cuts_) out_.stages.push_back(static_cast<int>(numbers_.lower_bound({level, 0})->second));
  }

  bool is_root(NodeId id) const { return std::ranges::find(ir_.roots, id) != ir_.roots.end(); }
  std::size_t part_of(NodeId id) const { return numbers_.at({level_[at(id)], ir_.node(id).device}); }

  void place(NodeId id) {
    if (!placeless(ir_.node(id)) || is_root(id)) copy_into(part_of(id), id);
  }

  // The node's stand-in in the part, made now if there is none.
  NodeId copy_into(std::size_t part, NodeId id) {
    if (const auto found = local_.find({part, id}); found != local_.end()) return found->second;
    IrNode node = ir_.node(id);
    const OpDef* def = node.def();
    for (int i = 0; i < static_cast<int>(node.inputs.size()); ++i) {
      ValueId& input = node.inputs[at(i)];
      const bool sizes = def != nullptr && std::ranges::find(def->sizes, i) != def->sizes.end();
      if (sizes && !from_shapes_(input)) {
        Crossing& crossing = out_.crossings[at(crossing_of(input, Crossing::Kind::value))];
        crossing.sizes = crossing.leaves_device = crossing.through_host = true;
      }
      const bool shape_only = def != nullptr && def->uses_only_shape(i);
      input = sizes && from_shapes_(input) ? size_in(part, input) : value_in(part, input, shape_only);
    }
    std::vector<NodeId> after;
    for (NodeId from : node.after) wait_in(part, from, after);
    node.after = std::move(after);
    return local_[{part, id}] = add_copy(part, std::move(node), values_);
  }

  // Adds what stands for a node of the whole in a part, and remembers its values.
  NodeId add_copy(std::size_t part, IrNode node, ValuesInParts& values) {
    std::vector<TensorInfo> infos;
    for (ValueId v : node.outputs) infos.push_back(ir_.info(v));
    const IdList outputs = node.outputs;
    node.device = out_.parts[part].device;
    Ir& into = out_.parts[part].ir;
    const NodeId made = into.add_node(std::move(node), infos);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const ValueId v = into.node(made).outputs[i];
      into.value(v).variable = ir_.value(outputs[i]).variable;
      values[{part, outputs[i]}] = v;
    }
    return made;
  }

  ValueId value_in(std::size_t part, ValueId v, bool shape_only) {
    if (const auto found = values_.find({part, v}); found != values_.end()) return found->second;
    const NodeId producer = ir_.producer(v);
    if (placeless(ir_.node(producer))) {
      copy_into(part, producer);
      return values_.at({part, v});
    }
    // A shape and a value of the same tensor may both cross: one does not stand in for the other.
    const auto found = shapes_.find({part, v});
    if (shape_only && found != shapes_.end()) return found->second;
    const int crossing = crossing_of(v, shape_only ? Crossing::Kind::shape : Crossing::Kind::value);
    const ValueId received = receive(part, crossing, ir_.node(producer), {ir_.info(v)});
    (shape_only ? shapes_ : values_)[{part, v}] = received;
    return received;
  }

  // A size that follows from shapes. Every part that needs it works it out, from the shapes on: what has come from
  // another part as a value is known only in a run.
  ValueId size_in(std::size_t part, ValueId v) {
    if (const auto found = sizes_.find({part, v}); found != sizes_.end()) return found->second;
    IrNode node = ir_.node(ir_.producer(v));
    const OpDef* def = node.def();
    for (int i = 0; i < static_cast<int>(node.inputs.size()); ++i) {
      ValueId& input = node.inputs[at(i)];
      input = def->uses_only_shape(i) ? value_in(part, input, true) : size_in(part, input);
    }
    node.after.clear();
    add_copy(part, std::move(node), sizes_);
    return sizes_.at({part, v});
  }

  ValueId receive(std::size_t part, int crossing, const IrNode& from, const std::vector<TensorInfo>& infos) {
    IrNode node{.op = kReceive,
                .origin = from.origin,
                .attributes = {{"crossing", static_cast<std::int64_t>(crossing)}},
                .device = out_.parts[part].device};
    Ir& into = out_.parts[part].ir;
    const NodeId made = into.add_node(std::move(node), infos);
    Crossing& c = out_.crossings[at(crossing)];
    c.last_reader = std::max(c.last_reader, static_cast<int>(part));
    const int there = out_.parts[at(c.from)].device, here = out_.parts[part].device;
    c.leaves_device |= there != here;
    c.through_host |= devices_[at(there)].name.kind() != devices_[at(here)].name.kind();
    if (infos.empty()) return made;
    if (c.kind == Crossing::Kind::value) into.value(into.node(made).outputs[0]).crossing = crossing;
    return into.node(made).outputs[0];
  }

  // The crossing that carries the value, or only its shape, out of the part that makes it.
  int crossing_of(ValueId v, Crossing::Kind kind) {
    const auto [found, added] = crossings_.try_emplace({v, kind}, static_cast<int>(out_.crossings.size()));
    if (!added) return found->second;
    const NodeId producer = ir_.producer(v);
    const std::size_t from = part_of(producer);
    const ValueId local = values_.at({from, v});
    if (kind == Crossing::Kind::value) send(from, found->second, producer, {local}, {});
    const Node* origin = ir_.node(producer).origin;
    const int output = ir_.value(v).output;
    const auto same = [&](const Crossing& c) { return c.kind == kind && c.origin == origin && c.output == output; };
    out_.crossings.push_back({.kind = kind,
                              .from = static_cast<int>(from),
                              .value = local,
                              .origin = origin,
                              .output = output,
                              .copy = static_cast<int>(std::ranges::count_if(out_.crossings, same))});
    return found->second;
  }

  void send(std::size_t from, int crossing, NodeId origin, std::vector<ValueId> inputs, std::vector<NodeId> after) {
    IrNode node{.op = kSend,
                .origin = ir_.node(origin).origin,
                .inputs = std::move(inputs),
                .after = std::move(after),
                .attributes = {{"crossing", static_cast<std::int64_t>(crossing)}},
                .device = ir_.node(origin).device};
    Ir& ir = out_.parts[from].ir;
    ir.roots.push_back(ir.add_node(std::move(node), {}));
  }

  // What a node of `part` that comes after `from` has to wait for.
  void wait_in(std::size_t part, NodeId from, std::vector<NodeId>& after) {
    if (placeless(ir_.node(from))) return;
    const std::size_t there = part_of(from);
    if (there == part) return after.push_back(local_.at({part, from}));
    const auto [found, added] = events_.try_emplace(from, static_cast<int>(out_.crossings.size()));
    if (added) {  // also what keeps an effect that nothing of its own part needs
      send(there, found->second, from, {}, {local_.at({there, from})});
      out_.crossings.push_back(
          {.kind = Crossing::Kind::event, .from = static_cast<int>(there), .origin = ir_.node(from).origin});
    }
    // A device runs its parts one after the other.
    if (out_.parts[there].device != out_.parts[part].device)
      after.push_back(receive(part, found->second, ir_.node(from), {}));
  }

  void add_hazard(const std::pair<const Node*, NodeId>& read, NodeId writer) {
    const Part::Hazard hazard{.variable = read.first, .reader = static_cast<int>(part_of(read.second))};
    auto& hazards = out_.parts[part_of(writer)].hazards;
    if (std::ranges::find(hazards, hazard) == hazards.end()) hazards.push_back(hazard);
  }

  void share_trained() {
    std::set<const Node*> trained;
    for (const IrNode& node : ir_.nodes())
      for (int input : updated_inputs(node)) trained.insert(ir_.value(node.inputs[at(input)]).variable);
    for (Part& part : out_.parts) part.ir.trained = trained;
  }

  Ir ir_;
  FromShapes from_shapes_{ir_};
  const std::vector<DeviceInfo>& devices_;
  Partition out_;
  std::set<int> cuts_;  // levels at which shapes follow from data
  std::vector<ReadBeforeWrite> before_;
  std::vector<NodeId> order_;
  std::vector<int> level_;                                  // by node
  std::map<std::pair<int, int>, std::size_t> numbers_;      // (level, device) -> part
  std::map<std::pair<std::size_t, NodeId>, NodeId> local_;  // (part, node) -> its node there
  ValuesInParts values_, shapes_, sizes_;
  std::map<std::pair<ValueId, Crossing::Kind>, int> crossings_;
  std::map<NodeId, int> events_;
  std::vector<std::pair<std::pair<const Node*, NodeId>, NodeId>> hazards_;  // ((variable, reader), writer)
};

}  // namespace

Partition partition(Ir ir, const std::vector<DeviceInfo>& devices) {
  const auto first = std::ranges::find_if(ir.nodes(), [](const IrNode& node) { return !placeless(node); });
  const int device = first == ir.nodes().end() ? 0 : first->device;
  FromShapes from_shapes(ir);
  const auto is_cut = [&](const IrNode& node) {
    for (int i = 0; i < static_cast<int>(node.inputs.size()); ++i)
      if (awaits_size(node, i, from_shapes)) return true;
    return false;
  };
  const bool one = std::ranges::all_of(
      ir.nodes(), [&](const IrNode& node) { return (placeless(node) || node.device == device) && !is_cut(node); });
  if (!one) return Partitioner(std::move(ir), devices).run();
  Partition out;
  for (NodeId id = 0; id < static_cast<NodeId>(ir.nodes().size()); ++id)
    ir.change(id, [&](IrNode& node) { node.device = device; });
  out.parts.push_back({.ir = std::move(ir), .device = device});
  return out;
}

}  // namespace belfry
