#include "belfry/engine/ir.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

#include "belfry/base/check.h"
#include "belfry/engine/engine_kinds.h"
#include "belfry/graph/internal/subgraph.h"

namespace belfry {
namespace {

// Each list is in the order of the numbers.
void put(IdList& list, NodeId id) { list.insert(std::ranges::upper_bound(list, id), id); }
void take(IdList& list, NodeId id) { list.erase(std::ranges::lower_bound(list, id)); }

}  // namespace

// A list may be long, that of a learning rate say: what stays is left alone.
void Ir::relink(NodeId id, const Edges& before) {
  ++changes_;
  const IdList none{};
  const IdList& inputs = node(id).dead ? none : node(id).inputs;
  const IdList& after = node(id).dead ? none : node(id).after;
  if (inputs == before.inputs && after == before.after) return;
  depths_.changed(id);
  if (inputs != before.inputs) {
    for (ValueId v : before.inputs) take(readers_[static_cast<std::size_t>(v)], id);
    for (ValueId v : inputs) put(readers_[static_cast<std::size_t>(v)], id);
  }
  if (after != before.after) {
    for (NodeId other : before.after) take(followers_[static_cast<std::size_t>(other)], id);
    for (NodeId other : after) put(followers_[static_cast<std::size_t>(other)], id);
  }
}

NodeId Ir::add_node(IrNode node, const std::vector<TensorInfo>& outputs) {
  const NodeId id = static_cast<NodeId>(nodes_.size());
  node.outputs.clear();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    node.outputs.push_back(static_cast<ValueId>(values.size()));
    values.push_back({.info = outputs[i], .output = static_cast<int>(i)});
  }
  nodes_.push_back(std::move(node));
  producers_.resize(values.size(), id);
  readers_.resize(values.size());
  followers_.resize(nodes_.size());
  link(id);
  return id;
}

ValueId Ir::add_output(NodeId id, const TensorInfo& info) {
  const ValueId made = static_cast<ValueId>(values.size());
  values.push_back({.info = info, .output = static_cast<int>(node(id).outputs.size())});
  producers_.push_back(id);
  readers_.resize(values.size());
  nodes_[static_cast<std::size_t>(id)].outputs.push_back(made);
  return made;
}

void Ir::take_output(NodeId id, ValueId taken, int index) {
  IdList& outputs = nodes_[static_cast<std::size_t>(id)].outputs;
  if (static_cast<std::size_t>(index) == outputs.size()) outputs.push_back(taken);
  outputs[static_cast<std::size_t>(index)] = taken;
  producers_[static_cast<std::size_t>(taken)] = id;
  ++changes_;
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
  std::ranges::for_each(producers_, follow);
  std::ranges::for_each(roots, follow);
  for (auto* lists : {&readers_, &followers_})
    for (IdList& list : *lists) list.clear();
  for (NodeId id = 0; id < static_cast<NodeId>(nodes_.size()); ++id) link(id);
}

bool Ir::depends_on(ValueId id, NodeId on) const {
  const NodeId producer = producers_[static_cast<std::size_t>(id)];
  return producer == on || (producer != kNone && depths_.reaches(*this, on, producer));
}

OpKind Ir::op_of(ValueId id) const {
  const NodeId producer = producers_[static_cast<std::size_t>(id)];
  return producer == kNone ? OpKind() : node(producer).op;
}

void replace_uses(Ir& ir, ValueId from, ValueId to) {
  const IdList readers = ir.readers(from);
  for (NodeId reader : readers) ir.change(reader, [&](IrNode& node) { std::ranges::replace(node.inputs, from, to); });
}

void bypass(Ir& ir, NodeId id, const IdList& given) {
  const IdList values = given;  // often a node's own list
  const IrNode gone = ir.node(id);
  ir.remove(id);
  IdList waits = gone.after;
  for (ValueId v : gone.inputs)
    if (ir.producer(v) != kNone) waits.push_back(ir.producer(v));
  std::set<NodeId> followers(ir.followers(id).begin(), ir.followers(id).end()), readers;
  for (ValueId v : gone.outputs) readers.insert(ir.readers(v).begin(), ir.readers(v).end());
  for (NodeId follower : followers)
    ir.change(follower, [&](IrNode& node) {
      erase(node.after, id);
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

namespace {

// Visits the readers of the node's outputs and the nodes that wait for it, one time for each edge.
template <class Visit>
void visit_next(const Ir& ir, NodeId id, Visit visit) {
  for (ValueId v : ir.node(id).outputs)
    if (ir.producer(v) == id) std::ranges::for_each(ir.readers(v), visit);
  std::ranges::for_each(ir.followers(id), visit);
}

}  // namespace

std::vector<NodeId> topological(const Ir& ir, FunctionRef<Rank(NodeId)> rank) {
  const auto count = static_cast<NodeId>(ir.nodes().size());
  std::vector<int> missing(ir.nodes().size(), 0);
  for (NodeId id = 0; id < count; ++id)
    if (!ir.node(id).dead) visit_next(ir, id, [&](NodeId next) { ++missing[static_cast<std::size_t>(next)]; });
  using Ready = std::pair<Rank, NodeId>;
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
  std::size_t alive = 0;
  for (NodeId id = 0; id < count; ++id) {
    if (ir.node(id).dead) continue;
    ++alive;
    if (missing[static_cast<std::size_t>(id)] == 0) ready.emplace(rank(id), id);
  }
  std::vector<NodeId> order;
  order.reserve(alive);
  while (!ready.empty()) {
    const NodeId id = ready.top().second;
    ready.pop();
    order.push_back(id);
    visit_next(ir, id, [&](NodeId next) {
      if (--missing[static_cast<std::size_t>(next)] == 0) ready.emplace(rank(next), next);
    });
  }
  BELFRY_BUG_IF(order.size() != alive, "a cycle of {} operations in a plan", alive - order.size());
  return order;
}

// By number. Most nodes have numbers in such an order already, so they are gone through once, and only those that come
// too early wait. What was waiting has a lower number than all that is still to come.
std::vector<NodeId> topological(const Ir& ir) {
  const auto at = [](int i) { return static_cast<std::size_t>(i); };
  const std::size_t count = ir.nodes().size();
  std::vector<char> open(count);  // alive, and not in the order yet
  for (std::size_t i = 0; i < count; ++i) open[i] = !ir.nodes()[i].dead;
  const std::size_t alive = count - static_cast<std::size_t>(std::ranges::count(open, 0));
  std::vector<std::pair<NodeId, int>> waiting;  // a node, and which entry waits for the same one as well
  std::vector<int> last_waiting(count, kNone), missing(count, 0);
  std::priority_queue<NodeId, std::vector<NodeId>, std::greater<>> ready;
  std::vector<NodeId> order;
  order.reserve(alive);
  for (NodeId id = 0; id < static_cast<NodeId>(count); ++id) {
    if (!open[at(id)]) continue;
    const auto wait = [&](NodeId before) {
      if (before == kNone || !open[at(before)]) return;
      waiting.emplace_back(id, std::exchange(last_waiting[at(before)], static_cast<int>(waiting.size())));
      ++missing[at(id)];
    };
    for (ValueId v : ir.node(id).inputs) wait(ir.producer(v));
    std::ranges::for_each(ir.node(id).after, wait);
    if (missing[at(id)] == 0) ready.push(id);
    while (!ready.empty()) {
      const NodeId next = ready.top();
      ready.pop();
      order.push_back(next);
      open[at(next)] = 0;
      for (int i = last_waiting[at(next)]; i != kNone; i = waiting[at(i)].second)
        if (--missing[at(waiting[at(i)].first)] == 0) ready.push(waiting[at(i)].first);
    }
  }
  BELFRY_BUG_IF(order.size() != alive, "a cycle of {} operations in a plan", alive - order.size());
  return order;
}

namespace {

bool has_effect(const IrNode& node) { return node.op.definition().side_effect; }

// By node: it has an effect of its own, or comes after one that has.
std::vector<char> follows_effect(const Ir& ir) {
  std::vector<char> out(ir.nodes().size(), 0);
  std::vector<NodeId> open;
  const auto mark = [&](NodeId id) {
    if (!std::exchange(out[static_cast<std::size_t>(id)], 1)) open.push_back(id);
  };
  for (NodeId id = 0; id < static_cast<NodeId>(ir.nodes().size()); ++id)
    if (!ir.node(id).dead && has_effect(ir.node(id))) mark(id);
  while (!open.empty()) {
    const NodeId id = open.back();
    open.pop_back();
    visit_next(ir, id, mark);
  }
  return out;
}

}  // namespace

void remove_unneeded(Ir& ir) {
  const std::vector<char> effects = follows_effect(ir);
  std::vector<char> needed(ir.nodes().size(), 0);
  std::vector<NodeId> open;
  // Most nodes need only lower ones, and are met on the way down; `open` has the others.
  const auto need = [&](NodeId id, NodeId reader) {
    if (id == kNone || std::exchange(needed[at(id)], 1)) return;
    if (id >= reader) open.push_back(id);
  };
  const auto follow = [&](NodeId id, NodeId met_before) {
    for (ValueId v : ir.node(id).inputs) need(ir.producer(v), met_before);
    // An ordering edge does not make pure work needed; effects that something waits for stay, with what leads to them.
    for (NodeId before : ir.node(id).after)
      if (effects[at(before)]) need(before, met_before);
  };
  const auto count = static_cast<NodeId>(ir.nodes().size());
  for (NodeId root : ir.roots) need(root, count);
  for (NodeId id = count; id-- > 0;)
    if (needed[at(id)] && !ir.node(id).dead) follow(id, id);
  while (!open.empty()) {
    const NodeId id = open.back();
    open.pop_back();
    if (!ir.node(id).dead) follow(id, 0);
  }
  for (std::size_t i = 0; i < needed.size(); ++i)
    if (!needed[i] && !ir.nodes()[i].dead) ir.remove(static_cast<NodeId>(i));
}

std::optional<double> uniform_constant(const Ir& ir, ValueId value) {
  if (!ir.is_op(value, kConstant)) return std::nullopt;
  const Array& array = ir.node(ir.producer(value)).attributes.get<Array>("value");
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
