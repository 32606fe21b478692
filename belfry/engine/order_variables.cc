// A variable's value lies in one place, and readers use it where it lies. So a reader of the value as of the start of
// the run must come before every assignment; where it cannot (it needs the assignment's result), it reads a snapshot.
#include <algorithm>
#include <map>
#include <utility>

#include "belfry/base/check.h"
#include "belfry/base/function_ref.h"
#include "belfry/engine/passes.h"

namespace belfry {
namespace {

class Orderer {
 public:
  explicit Orderer(Ir& ir) : ir_(ir) {}

  void run() {
    split_user_updates();
    collect();
    // What the user's paths say, before any edge is added here.
    for (const auto& [variable, assigns] : assigns_)
      for (NodeId assign : assigns) paths_.try_emplace(assign, reached_from(assign));
    for (auto& [variable, assigns] : assigns_) sort_assigns(*variable, assigns);
    for (auto& [variable, assigns] : assigns_) {
      order_reads(*variable, assigns);
      if (assigns.size() > 1) keep_results(assigns);
    }
  }

 private:
  // A user's op knows plain memory only, but a variable may lie in another layout: the op gives the new value, and an
  // assignment of ours writes it.
  void split_user_updates() {
    const NodeId last = static_cast<NodeId>(ir_.nodes.size());
    for (NodeId id = 0; id < last; ++id) {
      const OpDef* def = ir_.node(id).dead ? nullptr : ir_.node(id).def();
      if (def == nullptr || !def->host_kernel || def->updates.empty() || ir_.node(id).functional) continue;
      BELFRY_CHECK(def->updates.size() == 1, "{} expected a user's op that updates one variable, got {} {}. Split it.",
                   describe(*ir_.node(id).origin), def->updates.size(), made_at(*ir_.node(id).origin));
      const ValueId variable = ir_.node(id).inputs[static_cast<std::size_t>(def->updates[0])];
      const ValueId value = ir_.node(id).outputs[0];
      const NodeId next = static_cast<NodeId>(ir_.nodes.size());  // the assignment's number
      for (IrNode& node : ir_.nodes)
        if (std::ranges::find(node.after, id) != node.after.end()) node.after.push_back(next);
      if (assigned_elsewhere(variable, id)) read_where_it_stands(id, def->updates[0]);
      ir_.node(id).functional = true;
      IrNode assign{.op = "Assign",
                    .origin = ir_.node(id).origin,
                    .inputs = {variable, value},
                    .conditions = std::exchange(ir_.node(id).conditions, {}),
                    .device = ir_.node(id).device,
                    .rank = id};
      if (!assign.conditions.empty()) assign.after = ir_.node(id).after;
      const bool conditional = !assign.conditions.empty();
      const NodeId made = ir_.add_node(std::move(assign), {ir_.info(value)});
      ir_.roots.push_back(made);
      if (conditional) {  // the variable may not take the new value: readers look at what it is then
        replace_uses(ir_, value, ir_.node(made).outputs[0]);
        ir_.node(made).inputs[1] = value;
      }
    }
  }

  bool assigned_elsewhere(ValueId variable, NodeId except) const {
    for (NodeId id = 0; id < static_cast<NodeId>(ir_.nodes.size()); ++id)
      if (id != except && !ir_.node(id).dead)
        for (int input : updated_inputs(ir_.node(id)))
          if (ir_.node(id).inputs[static_cast<std::size_t>(input)] == variable) return true;
    return false;
  }

  // An update starts from what the assignments before it left, not from the start of the run.
  void read_where_it_stands(NodeId id, int input) {
    const IrNode node = ir_.node(id);  // a copy: adding nodes moves them
    const ValueId variable = node.inputs[static_cast<std::size_t>(input)];
    IrNode read{.op = "ReadVariable",
                .origin = node.origin,
                .inputs = {variable},
                .after = node.after,
                .device = node.device,
                .rank = id};
    for (ValueId other : node.inputs)
      if (other != variable && ir_.value(other).producer != kNone) read.after.push_back(ir_.value(other).producer);
    const NodeId made = ir_.add_node(std::move(read), {ir_.info(variable)});
    ir_.node(id).inputs[static_cast<std::size_t>(input)] = ir_.node(made).outputs[0];
  }

  void collect() {
    for (NodeId id = 0; id < static_cast<NodeId>(ir_.nodes.size()); ++id) {
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
      if (node.op == "Variable") variables_[node.origin] = id;
    }
  }

  // Which nodes come after `from` on any path.
  std::vector<char> reached_from(NodeId from) const {
    std::vector<std::vector<NodeId>> next(ir_.nodes.size());
    for (NodeId id = 0; id < static_cast<NodeId>(ir_.nodes.size()); ++id) {
      if (ir_.node(id).dead) continue;
      for (ValueId v : ir_.node(id).inputs)
        if (ir_.value(v).producer != kNone) next[static_cast<std::size_t>(ir_.value(v).producer)].push_back(id);
      for (NodeId before : ir_.node(id).after) next[static_cast<std::size_t>(before)].push_back(id);
    }
    std::vector<char> seen(ir_.nodes.size(), 0);
    std::vector<NodeId> open{from};
    while (!open.empty()) {
      const NodeId id = open.back();
      open.pop_back();
      for (NodeId n : next[static_cast<std::size_t>(id)])
        if (!seen[static_cast<std::size_t>(n)]) {
          seen[static_cast<std::size_t>(n)] = 1;
          open.push_back(n);
        }
    }
    return seen;
  }

  void sort_assigns(const Node& variable, std::vector<NodeId>& assigns) {
    for (std::size_t i = 0; i + 1 < assigns.size(); ++i)
      for (std::size_t k = i + 1; k < assigns.size(); ++k) {
        const NodeId a = assigns[i], b = assigns[k];
        BELFRY_CHECK(path(a, b) || path(b, a),
                     "[Variable '{}'] expected assignments that are ordered in one run, got {} {} and {} {} with no "
                     "path between them. "
                     "Use ControlDependencies to say which comes first.",
                     variable.name, describe(*ir_.node(a).origin), made_at(*ir_.node(a).origin),
                     describe(*ir_.node(b).origin), made_at(*ir_.node(b).origin));
      }
    std::ranges::sort(assigns, [&](NodeId a, NodeId b) { return a != b && path(a, b); });
  }
  bool path(NodeId assign, NodeId to) const { return paths_.at(assign)[static_cast<std::size_t>(to)] != 0; }

  // The variable's value and every view of it: all the same memory.
  std::vector<char> aliases_of(ValueId value) const {
    std::vector<char> alias(ir_.values.size(), 0);
    alias[static_cast<std::size_t>(value)] = 1;
    for (NodeId id : topological(ir_)) {
      const IrNode& node = ir_.node(id);
      const KernelDef* kernel = node.inputs.empty() ? nullptr : ir_.kernel_of(node);
      if (kernel != nullptr && kernel->view && alias[static_cast<std::size_t>(node.inputs[0])])
        alias[static_cast<std::size_t>(node.outputs[0])] = 1;
    }
    return alias;
  }

  void order_reads(const Node& variable, const std::vector<NodeId>& assigns) {
    const ValueId value = ir_.node(variables_.at(&variable)).outputs[0];
    const std::vector<char> alias = aliases_of(value);
    std::vector<ValueId> versions(assigns.size(), kNone);
    const NodeId last = static_cast<NodeId>(ir_.nodes.size());
    for (NodeId reader = 0; reader < last; ++reader) {
      if (ir_.node(reader).dead) continue;
      // An explicit read sees the assignments that come before it; any other reader the start of the run.
      const bool explicit_read = ir_.node(reader).op == "ReadVariable" && ir_.node(reader).inputs[0] == value;
      if (!explicit_read && !reads(reader, [&](ValueId v) {
            return v < static_cast<ValueId>(alias.size()) && alias[static_cast<std::size_t>(v)];
          }))
        continue;
      std::size_t seen = 0;
      while (explicit_read && seen < assigns.size() && path(assigns[seen], reader)) ++seen;
      if (seen == assigns.size() || (assigns[seen] == reader && seen + 1 == assigns.size())) continue;
      const NodeId next = assigns[assigns[seen] == reader ? seen + 1 : seen];  // must not have happened yet
      if (!reached_from(next)[static_cast<std::size_t>(reader)])
        ir_.node(next).after.push_back(reader);
      else
        read_from(reader, value, version(value, assigns, seen, versions));
    }
  }

  // A copy of the variable's value after so many assignments.
  ValueId version(ValueId value, const std::vector<NodeId>& assigns, std::size_t seen, std::vector<ValueId>& versions) {
    if (versions[seen] != kNone) return versions[seen];
    versions[seen] = copy_of(value, ir_.value(value).producer);
    const NodeId copy = ir_.value(versions[seen]).producer;
    if (seen > 0) ir_.node(copy).after.push_back(assigns[seen - 1]);
    ir_.node(assigns[seen]).after.push_back(copy);
    return versions[seen];
  }

  // The reader, and the views it may read through, take the copy. (Only readers of the start's value read views, so any
  // view may.)
  void read_from(NodeId reader, ValueId value, ValueId copy) {
    const bool direct_only = ir_.node(reader).op == "ReadVariable";
    replace_reads(reader, value, copy);
    for (NodeId id = 0; id < static_cast<NodeId>(ir_.nodes.size()) && !direct_only; ++id) {
      const KernelDef* kernel = ir_.kernel_of(ir_.node(id));
      if (kernel != nullptr && kernel->view) replace_reads(id, value, copy);
    }
  }

  // With several assignments, the new value that one of them gives must survive the next: its readers get a copy.
  void keep_results(const std::vector<NodeId>& assigns) {
    for (std::size_t i = 0; i + 1 < assigns.size(); ++i) {
      const ValueId result = ir_.node(assigns[i]).outputs[0];
      if (Uses(ir_).count(result) == 0) continue;
      const ValueId copy = copy_of(result, assigns[i]);
      for (NodeId reader = 0; reader < ir_.value(copy).producer; ++reader) replace_reads(reader, result, copy);
      for (std::size_t k = i + 1; k < assigns.size(); ++k)
        ir_.node(assigns[k]).after.push_back(ir_.value(copy).producer);
    }
  }

  bool reads(NodeId node, FunctionRef<bool(ValueId)> is_value) const {
    const auto& updated = updated_inputs(ir_.node(node));
    for (int i = 0; i < static_cast<int>(ir_.node(node).inputs.size()); ++i)
      if (is_value(ir_.node(node).inputs[static_cast<std::size_t>(i)]) &&
          std::ranges::find(updated, i) == updated.end())
        return true;
    return false;
  }

  void replace_reads(NodeId node, ValueId from, ValueId to) {
    const std::vector<int> updated = updated_inputs(ir_.node(node));
    for (int i = 0; i < static_cast<int>(ir_.node(node).inputs.size()); ++i) {
      ValueId& input = ir_.node(node).inputs[static_cast<std::size_t>(i)];
      if (input == from && std::ranges::find(updated, i) == updated.end()) input = to;
    }
  }

  ValueId copy_of(ValueId value, NodeId after) {
    IrNode node{
        .op = "Snapshot", .origin = ir_.node(after).origin, .inputs = {value}, .device = ir_.node(after).device};
    return ir_.node(ir_.add_node(std::move(node), {ir_.info(value)})).outputs[0];
  }

  Ir& ir_;
  // In the order of creation: the edges added for one variable decide what is possible for the next.
  std::map<const Node*, std::vector<NodeId>, ByNumber> assigns_;
  std::map<NodeId, std::vector<char>> paths_;  // by assignment: what comes after it
  std::map<const Node*, NodeId> variables_;
};

}  // namespace

void order_variables(Ir& ir) { Orderer(ir).run(); }

}  // namespace belfry
