#include "belfry/engine/ir.h"

#include <algorithm>

#include "belfry/base/check.h"
#include "belfry/graph/subgraph.h"

namespace belfry {
namespace {

const OpKind kConstant = op_kind("Constant");

}  // namespace

namespace {

// Each list is in the order of the numbers.
void put(std::vector<NodeId>& list, NodeId id) { list.insert(std::ranges::upper_bound(list, id), id); }
void take(std::vector<NodeId>& list, NodeId id) { list.erase(std::ranges::lower_bound(list, id)); }

}  // namespace

void Ir::link(NodeId id) {
  depths_.changed(id);
  if (node(id).dead) return;
  for (ValueId v : node(id).inputs) put(readers_[static_cast<std::size_t>(v)], id);
  for (NodeId before : node(id).after) put(followers_[static_cast<std::size_t>(before)], id);
}

void Ir::unlink(NodeId id) {
  if (node(id).dead) return;
  for (ValueId v : node(id).inputs) take(readers_[static_cast<std::size_t>(v)], id);
  for (NodeId before : node(id).after) take(followers_[static_cast<std::size_t>(before)], id);
}

NodeId Ir::add_node(IrNode node, const std::vector<TensorInfo>& outputs) {
  const NodeId id = static_cast<NodeId>(nodes_.size());
  node.outputs.clear();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    node.outputs.push_back(static_cast<ValueId>(values.size()));
    values.push_back({.info = outputs[i], .producer = id, .output = static_cast<int>(i)});
  }
  nodes_.push_back(std::move(node));
  readers_.resize(values.size());
  followers_.resize(nodes_.size());
  link(id);
  return id;
}

ValueId Ir::add_output(NodeId id, const TensorInfo& info) {
  const ValueId made = static_cast<ValueId>(values.size());
  values.push_back({.info = info, .producer = id, .output = static_cast<int>(node(id).outputs.size())});
  readers_.resize(values.size());
  nodes_[static_cast<std::size_t>(id)].outputs.push_back(made);
  return made;
}

void Ir::take_output(NodeId id, ValueId taken, int index) {
  std::vector<ValueId>& outputs = nodes_[static_cast<std::size_t>(id)].outputs;
  if (static_cast<std::size_t>(index) == outputs.size()) outputs.push_back(taken);
  outputs[static_cast<std::size_t>(index)] = taken;
  value(taken).producer = id;
  for (NodeId reader : readers(taken)) depths_.changed(reader);
  value(taken).output = index;
}

void Ir::reorder(const std::vector<NodeId>& order) {
  depths_.forget();
  std::vector<NodeId> now(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) now[static_cast<std::size_t>(order[i])] = static_cast<NodeId>(i);
  const auto follow = [&](NodeId& id) { id = id == kNone ? kNone : now[static_cast<std::size_t>(id)]; };
  std::vector<IrNode> sorted;
  for (NodeId id : order) sorted.push_back(std::move(nodes_[static_cast<std::size_t>(id)]));
  nodes_ = std::move(sorted);
  for (IrNode& node : nodes_) {
    std::ranges::for_each(node.after, follow);
    for (NodeId* other : {&node.completes, &node.rank, &node.copy_of}) follow(*other);
  }
  for (IrValue& value : values) follow(value.producer);
  std::ranges::for_each(roots, follow);
  for (auto* lists : {&readers_, &followers_})
    for (std::vector<NodeId>& list : *lists) list.clear();
  for (NodeId id = 0; id < static_cast<NodeId>(nodes_.size()); ++id) link(id);
}

bool Ir::depends_on(ValueId id, NodeId on) const {
  const NodeId producer = value(id).producer;
  return producer == on || (producer != kNone && depths_.reaches(*this, on, producer));
}

OpKind Ir::op_of(ValueId id) const {
  const NodeId producer = value(id).producer;
  return producer == kNone ? OpKind() : node(producer).op;
}

void replace_uses(Ir& ir, ValueId from, ValueId to) {
  const std::vector<NodeId> readers = ir.readers(from);
  for (NodeId reader : readers) ir.change(reader, [&](IrNode& node) { std::ranges::replace(node.inputs, from, to); });
}

void bypass(Ir& ir, NodeId id, const std::vector<ValueId>& values) {
  const IrNode gone = ir.node(id);
  ir.remove(id);
  std::vector<NodeId> waits = gone.after;
  for (ValueId v : gone.inputs)
    if (ir.value(v).producer != kNone) waits.push_back(ir.value(v).producer);
  std::set<NodeId> followers(ir.followers(id).begin(), ir.followers(id).end()), readers;
  for (ValueId v : gone.outputs) readers.insert(ir.readers(v).begin(), ir.readers(v).end());
  for (NodeId follower : followers)
    ir.change(follower, [&](IrNode& node) {
      std::erase(node.after, id);
      node.after.insert(node.after.end(), waits.begin(), waits.end());
    });
  // A reader came after what the node waited for, and still does.
  if (!gone.after.empty())
    for (NodeId reader : readers)
      if (!followers.contains(reader))
        ir.change(reader,
                  [&](IrNode& node) { node.after.insert(node.after.end(), gone.after.begin(), gone.after.end()); });
  for (std::size_t i = 0; i < values.size(); ++i) replace_uses(ir, gone.outputs[i], values[i]);
  if (std::erase(ir.roots, id) > 0) ir.roots.insert(ir.roots.end(), waits.begin(), waits.end());
}

std::vector<NodeId> topological(const Ir& ir, FunctionRef<Rank(NodeId)> rank) {
  std::vector<int> missing(ir.nodes().size(), 0);
  std::vector<std::vector<NodeId>> next(ir.nodes().size());
  std::set<std::pair<Rank, NodeId>> ready;
  std::size_t alive = 0;
  for (NodeId id = 0; id < static_cast<NodeId>(ir.nodes().size()); ++id) {
    const IrNode& node = ir.node(id);
    if (node.dead) continue;
    ++alive;
    const auto edge = [&](NodeId from) {
      if (from == kNone || ir.node(from).dead) return;
      next[static_cast<std::size_t>(from)].push_back(id);
      ++missing[static_cast<std::size_t>(id)];
    };
    for (ValueId v : node.inputs) edge(ir.value(v).producer);
    for (NodeId before : node.after) edge(before);
    if (missing[static_cast<std::size_t>(id)] == 0) ready.emplace(rank(id), id);
  }
  std::vector<NodeId> order;
  while (!ready.empty()) {
    const NodeId id = ready.begin()->second;
    ready.erase(ready.begin());
    order.push_back(id);
    for (NodeId n : next[static_cast<std::size_t>(id)])
      if (--missing[static_cast<std::size_t>(n)] == 0) ready.emplace(rank(n), n);
  }
  BELFRY_BUG_IF(order.size() != alive, "a cycle of {} operations in a plan", alive - order.size());
  return order;
}

std::vector<NodeId> topological(const Ir& ir) {
  return topological(ir, [](NodeId id) { return Rank{0, id, id}; });
}

namespace {

bool has_effect(const IrNode& node) { return node.op.definition().side_effect; }

// By node: it has an effect of its own, or comes after one that has.
std::vector<char> follows_effect(const Ir& ir) {
  std::vector<char> out(ir.nodes().size(), 0);
  const auto marked = [&](NodeId id) { return id != kNone && out[static_cast<std::size_t>(id)] != 0; };
  for (NodeId id : topological(ir)) {
    const IrNode& node = ir.node(id);
    out[static_cast<std::size_t>(id)] =
        has_effect(node) || std::ranges::any_of(node.after, marked) ||
        std::ranges::any_of(node.inputs, [&](ValueId v) { return marked(ir.value(v).producer); });
  }
  return out;
}

}  // namespace

void remove_unneeded(Ir& ir) {
  const std::vector<char> effects = follows_effect(ir);
  std::vector<char> needed(ir.nodes().size(), 0);
  std::vector<NodeId> open = ir.roots;
  while (!open.empty()) {
    const NodeId id = open.back();
    open.pop_back();
    if (id == kNone || needed[static_cast<std::size_t>(id)] || ir.node(id).dead) continue;
    needed[static_cast<std::size_t>(id)] = 1;
    for (ValueId v : ir.node(id).inputs) open.push_back(ir.value(v).producer);
    // An ordering edge does not make pure work needed; effects that something waits for stay, with what leads to them.
    for (NodeId before : ir.node(id).after)
      if (effects[static_cast<std::size_t>(before)]) open.push_back(before);
  }
  for (std::size_t i = 0; i < needed.size(); ++i)
    if (!needed[i]) ir.remove(static_cast<NodeId>(i));
}

std::optional<double> uniform_constant(const Ir& ir, ValueId value) {
  if (!ir.is_op(value, kConstant)) return std::nullopt;
  const Array& array = ir.node(ir.value(value).producer).attributes.get<Array>("value");
  for (std::int64_t i = 1; i < array.elements(); ++i)
    if (array.item(i) != array.item(0)) return std::nullopt;
  return array.elements() == 0 ? std::nullopt : std::optional(array.item(0));
}

bool is_pure(const IrNode& node) {
  const OpDef* def = node.def();
  return def != nullptr && !def->stateful && !def->side_effect && !def->host_kernel && node.after.empty() &&
         !has_stateful_function(node.attributes);
}

const std::vector<int>& updated_inputs(const IrNode& node) {
  static const std::vector<int> none;
  return node.functional ? none : node.op.definition().updates;
}

}  // namespace belfry
