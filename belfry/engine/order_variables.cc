// A variable's value lies in one place, and readers use it there without a copy. So a reader of the value as of the
// start of the run must come before every assignment; if it cannot (it needs the assignment's result), it reads a
// snapshot.
#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "belfry/base/check.h"
#include "belfry/engine/engine_kinds.h"
#include "belfry/engine/node_order.h"
#include "belfry/engine/node_table.h"
#include "belfry/engine/passes.h"

namespace belfry {
namespace {

const OpKind kAssign = op_kind("Assign");

class Orderer {
 public:
  explicit Orderer(Ir& ir) : ir_(ir) {}

  void run() {
    split_user_updates();
    collect();
    if (assigns_.empty()) return;
    order_.emplace(ir_, [&](NodeId id) { return !updated_inputs(ir_.node(id)).empty(); });
    // The order from the user's paths, before any edge is added here.
    for (auto& [variable, assigns] : assigns_) sort_assigns(*variable, assigns);
    collect_readers();
    for (auto& [variable, assigns] : assigns_) {
      order_reads(*variable, assigns);
      if (assigns.size() > 1) keep_results(assigns);
    }
  }

 private:
  // A user's op only handles plain memory, but a variable may have another layout: the op returns the new value, and
  // our assignment writes it.
  void split_user_updates() {
    const NodeId last = static_cast<NodeId>(ir_.nodes().size());
    for (NodeId id = 0; id < last; ++id) {
      const OpDef* def = ir_.node(id).dead ? nullptr : ir_.node(id).def();
      if (def == nullptr || !def->host_kernel || def->updates.empty() || ir_.node(id).functional) continue;
      BELFRY_CHECK(def->updates.size() == 1, "{} expected a user's op that updates one variable, got {} {}. Split it.",
                   describe(*ir_.node(id).origin), def->updates.size(), made_at(*ir_.node(id).origin));
      const ValueId variable = ir_.node(id).inputs[static_cast<std::size_t>(def->updates[0])];
      const ValueId value = ir_.node(id).outputs[0];
      const IdList followers = ir_.followers(id);
      if (assigned_elsewhere(variable, id)) read_where_it_stands(id, def->updates[0]);
      std::vector<const Node*> conditions;
      ir_.change(id, [&](IrNode& node) {
        node.functional = true;
        conditions = std::exchange(node.conditions, {});
      });
      IrNode assign{.op = kAssign,
                    .origin = ir_.node(id).origin,
                    .inputs = {variable, value},
                    .conditions = std::move(conditions),
                    .device = ir_.node(id).device,
                    .rank = id};
      if (!assign.conditions.empty()) assign.after = ir_.node(id).after;
      const bool conditional = !assign.conditions.empty();
      const NodeId made = ir_.add_node(std::move(assign), {ir_.info(value)});
      ir_.roots.push_back(made);
      for (NodeId follower : followers) ir_.change(follower, [&](IrNode& node) { node.after.push_back(made); });
      if (conditional) {  // the variable may not take the new value: readers read it afterwards
        replace_uses(ir_, value, ir_.node(made).outputs[0]);
        ir_.change(made, [&](IrNode& node) { node.inputs[1] = value; });
      }
    }
  }

  bool assigned_elsewhere(ValueId variable, NodeId except) const {
    return std::ranges::any_of(ir_.readers(variable), [&](NodeId id) {
      const IrNode& node = ir_.node(id);
      return id != except &&
             std::ranges::any_of(updated_inputs(node), [&](int i) { return node.inputs[at(i)] == variable; });
    });
  }

  // An update starts from what the assignments before it left, not from the start of the run.
  void read_where_it_stands(NodeId id, int input) {
    const IrNode node = ir_.node(id);  // a copy: adding nodes moves them
    const ValueId variable = node.inputs[static_cast<std::size_t>(input)];
    IrNode read{.op = kReadVariable,
                .origin = node.origin,
                .inputs = {variable},
                .after = node.after,
                .device = node.device,
                .rank = id};
    for (ValueId other : node.inputs)
      if (other != variable && ir_.producer(other) != kNone) read.after.push_back(ir_.producer(other));
    const NodeId made = ir_.add_node(std::move(read), {ir_.info(variable)});
    ir_.change(id,
               [&](IrNode& changed) { changed.inputs[static_cast<std::size_t>(input)] = ir_.node(made).outputs[0]; });
  }

  void collect() {
    for (NodeId id = 0; id < static_cast<NodeId>(ir_.nodes().size()); ++id) {
      const IrNode& node = ir_.node(id);
      if (node.dead) continue;
      for (int input : updated_inputs(node)) {
        const Node* variable = ir_.value(node.inputs[static_cast<std::size_t>(input)]).variable;
        BELFRY_CHECK(
            variable != nullptr,
            "{} expected a variable as input {}, got '{}' {}. Pass the variable itself, not a value made from it.",
            describe(*node.origin), input, node.origin->inputs[static_cast<std::size_t>(input)].name(),
            made_at(*node.origin));
        assigns_[variable].push_back(id);
        if (input == updated_inputs(node)[0])
          ir_.value(node.outputs[0]).variable = variable;  // the new value lies there too
      }
      if (node.op.definition().variable) variables_[node.origin] = id;
    }
  }

  void sort_assigns(const Node& variable, std::vector<NodeId>& assigns) {
    std::ranges::sort(assigns, {}, [&](NodeId id) { return order_->place(id); });
    // If all are ordered, there is a path from each to the one after it.
    for (std::size_t i = 0; i + 1 < assigns.size(); ++i) {
      const auto [a, b] = std::minmax(assigns[i], assigns[i + 1]);
      BELFRY_CHECK(order_->reaches(assigns[i], assigns[i + 1]),
                   "[Variable '{}'] expected ordered assignments in one run, got {} {} and {} {} with no "
                   "path between them. "
                   "Use ControlDependencies to say which comes first.",
                   variable.name, describe(*ir_.node(a).origin), made_at(*ir_.node(a).origin),
                   describe(*ir_.node(b).origin), made_at(*ir_.node(b).origin));
    }
  }

  // The readers of an assigned variable, also through views of it: all use the same memory.
  void collect_readers() {
    std::vector<const Node*> shown(ir_.values.size(), nullptr);  // by value: the variable whose memory it shows
    for (const auto& [variable, assigns] : assigns_)
      shown[static_cast<std::size_t>(ir_.node(variables_[variable]).outputs[0])] = variable;
    for (NodeId id : order_->nodes()) {
      const IrNode& node = ir_.node(id);
      if (keeps_elements(node) && shown[static_cast<std::size_t>(node.inputs[0])] != nullptr)
        shown[static_cast<std::size_t>(node.outputs[0])] = shown[static_cast<std::size_t>(node.inputs[0])];
    }
    for (NodeId id = 0; id < static_cast<NodeId>(ir_.nodes().size()); ++id)
      if (!ir_.node(id).dead) collect_reads_of(id, shown);
  }

  void collect_reads_of(NodeId id, const std::vector<const Node*>& shown) {
    const IrNode& node = ir_.node(id);
    const std::vector<int>& updated = updated_inputs(node);
    for (int i = 0; i < static_cast<int>(node.inputs.size()); ++i) {
      const ValueId input = node.inputs[static_cast<std::size_t>(i)];
      const Node* variable = shown[static_cast<std::size_t>(input)];
      if (variable == nullptr || std::ranges::find(updated, i) != updated.end()) continue;
      std::vector<Read>& reads = reads_[variable];
      if (!reads.empty() && reads.back().reader == id) continue;
      // An explicit read sees the assignments that come before it; any other reader the start of the run.
      std::size_t seen = 0;
      const std::vector<NodeId>& assigns = assigns_.at(variable);
      if (node.op == kReadVariable && input == ir_.node(variables_[variable]).outputs[0])
        while (seen < assigns.size() && order_->reaches(assigns[seen], id)) ++seen;
      reads.push_back({id, seen});
    }
  }

  void order_reads(const Node& variable, const std::vector<NodeId>& assigns) {
    const ValueId value = ir_.node(variables_[&variable]).outputs[0];
    std::vector<ValueId> versions(assigns.size(), kNone);
    for (const auto& [reader, seen] : reads_[&variable]) {
      if (seen == assigns.size() || (assigns[seen] == reader && seen + 1 == assigns.size())) continue;
      const NodeId next = assigns[assigns[seen] == reader ? seen + 1 : seen];  // must not have happened yet
      if (!order_->reaches(next, reader)) {
        put_after(next, reader);
      } else {
        read_from(reader, variable, version(value, assigns, seen, versions));
      }
    }
  }

  // A copy of the variable's value after this many assignments.
  ValueId version(ValueId value, const std::vector<NodeId>& assigns, std::size_t seen, std::vector<ValueId>& versions) {
    if (versions[seen] != kNone) return versions[seen];
    versions[seen] = copy_of(value, ir_.producer(value));
    const NodeId copy = ir_.producer(versions[seen]);
    if (seen > 0) put_after(copy, assigns[seen - 1]);
    put_after(assigns[seen], copy);
    return versions[seen];
  }

  // The reader, and any views it reads through, use the copy. (Only readers of the start's value read views, so any
  // view may.)
  void read_from(NodeId reader, const Node& variable, ValueId copy) {
    const ValueId value = ir_.node(variables_[&variable]).outputs[0];
    const bool direct_only = ir_.node(reader).op == kReadVariable;
    replace_reads(reader, value, copy);
    if (direct_only) return;
    for (const Read& read : reads_[&variable])
      if (keeps_elements(ir_.node(read.reader))) replace_reads(read.reader, value, copy);
  }

  // With several assignments, the new value of one must survive the next: its readers get a copy.
  void keep_results(const std::vector<NodeId>& assigns) {
    for (std::size_t i = 0; i + 1 < assigns.size(); ++i) {
      const ValueId result = ir_.node(assigns[i]).outputs[0];
      const IdList readers = ir_.readers(result);
      if (readers.empty()) continue;
      const ValueId copy = copy_of(result, assigns[i]);
      for (NodeId reader : readers) replace_reads(reader, result, copy);
      for (std::size_t k = i + 1; k < assigns.size(); ++k) put_after(assigns[k], ir_.producer(copy));
    }
  }

  void put_after(NodeId node, NodeId before) {
    ir_.change(node, [&](IrNode& changed) { changed.after.push_back(before); });
    order_->added_edge(before, node);
  }

  void replace_reads(NodeId node, ValueId from, ValueId to) {
    ir_.change(node, [&](IrNode& reader) {
      const std::vector<int>& updated = updated_inputs(reader);
      for (int i = 0; i < static_cast<int>(reader.inputs.size()); ++i)
        if (ValueId& input = reader.inputs[static_cast<std::size_t>(i)];
            input == from && std::ranges::find(updated, i) == updated.end())
          input = to;
    });
    const IdList& inputs = ir_.node(node).inputs;
    if (std::ranges::find(inputs, to) != inputs.end()) order_->added_edge(ir_.producer(to), node);
  }

  ValueId copy_of(ValueId value, NodeId after) {
    IrNode node{.op = kSnapshot, .origin = ir_.node(after).origin, .inputs = {value}, .device = ir_.node(after).device};
    const NodeId made = ir_.add_node(std::move(node), {ir_.info(value)});
    order_->added_node(made);
    return ir_.node(made).outputs[0];
  }

  // A node that reads a variable, and how many of its assignments it sees.
  struct Read {
    NodeId reader = kNone;
    std::size_t seen = 0;
  };

  Ir& ir_;
  std::optional<NodeOrder> order_;  // with the edges that are added here
  // In the order of creation: the edges added for one variable decide what is possible for the next.
  std::map<const Node*, std::vector<NodeId>, ByNumber> assigns_;
  NodeTable<std::vector<Read>> reads_;  // by variable
  NodeTable<NodeId> variables_;         // by variable: its node here
};

}  // namespace

void order_variables(Ir& ir) { Orderer(ir).run(); }

}  // namespace belfry
