// What the compiler's passes work on: the part of a graph that a run needs, with concrete shapes. Nodes and values are
// numbered; a removed node is marked dead and skipped. Internal to engine.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "belfry/base/function_ref.h"
#include "belfry/engine/depths.h"
#include "belfry/engine/id_list.h"
#include "belfry/engine/tensor_info.h"
#include "belfry/graph/node.h"

namespace belfry {

using ValueId = int;
using NodeId = int;
inline constexpr int kNone = -1;

// A number of a node, a value or a part as an index.
inline std::size_t at(int number) { return static_cast<std::size_t>(number); }

// In the order of creation, not of addresses.
struct ByNumber {
  bool operator()(const Node* a, const Node* b) const { return a->id < b->id; }
};

struct IrValue {
  TensorInfo info{};
  int output = 0;                  // which output of the producer
  const Node* variable = nullptr;  // it is this variable's value
  int crossing = kNone;            // it goes from one part to others ...
  bool leaves_device = false;      // ... of other devices too
};

struct IrNode {
  OpKind op{};                            // an op of the graph, or one that only passes make ("Reorder", "FusedConv")
  const Node* origin = nullptr;           // where it came from; the first of a fused group
  IdList inputs{}, outputs{};             // of values
  IdList after{};                         // must run after these: control edges, and reads before assignments
  std::vector<const Node*> conditions{};  // of an update: skipped unless these bool variables are true
  Attributes attributes{};
  int device = 0;
  bool dead = false;
  bool functional = false;   // its update of a variable was split off: it gives the new value and writes nothing
  NodeId completes = kNone;  // the update that this node is the rest of: it runs directly after it
  NodeId rank = kNone;       // its place among ready nodes, if not its own number: a reorder goes with its reader
  int recomputed = 0;        // the gradient pass (RecomputeMark) that it is computed again for, ...
  NodeId copy_of = kNone;    // ... and the node that computes it first
  std::vector<std::string> fused{};  // names of the graph's ops inside, for explain()

  const OpDef* def() const { return op == origin->def->kind ? origin->def : nullptr; }
};

// Nodes are changed through change() alone, so that who reads a value, and who waits for a node, is always known.
class Ir {
 public:
  const std::vector<IrNode>& nodes() const { return nodes_; }
  const IrNode& node(NodeId id) const { return nodes_[static_cast<std::size_t>(id)]; }
  // Calls `how` with the node, which may not add others.
  template <class How>
  void change(NodeId id, How&& how) {
    IrNode& node = nodes_[static_cast<std::size_t>(id)];
    const Edges before(node);
    how(node);
    relink(id, before);
  }
  void remove(NodeId id) {
    change(id, [](IrNode& node) { node.dead = true; });
  }

  NodeId add_node(IrNode node, const std::vector<TensorInfo>& outputs);
  // A further output of a node that is there already.
  ValueId add_output(NodeId id, const TensorInfo& info);
  // The node makes a value that another one made so far, as its output `index` (one past the last: a further one).
  void take_output(NodeId id, ValueId value, int index);
  // Numbers the nodes anew: `order` lists them all by their old numbers.
  void reorder(const std::vector<NodeId>& order);

  // Who is not dead and reads a value, in the order of their numbers; a node that reads it twice stands twice.
  const IdList& readers(ValueId id) const { return readers_[static_cast<std::size_t>(id)]; }
  // Who is not dead and has the node in its `after`, likewise.
  const IdList& followers(NodeId id) const { return followers_[static_cast<std::size_t>(id)]; }

  // Counts changes of nodes: as long as it stays the same, so does topological().
  std::size_t changes() const { return changes_; }

  // Whether the value cannot be made before the node has run.
  bool depends_on(ValueId value, NodeId node) const;

  IrValue& value(ValueId id) { return values[static_cast<std::size_t>(id)]; }
  const IrValue& value(ValueId id) const { return values[static_cast<std::size_t>(id)]; }
  NodeId producer(ValueId id) const { return producers_[static_cast<std::size_t>(id)]; }
  const TensorInfo& info(ValueId id) const { return value(id).info; }
  // The producer's op; OpKind() if there is none.
  OpKind op_of(ValueId id) const;
  bool is_op(ValueId id, OpKind op) const { return op_of(id) == op; }

  std::vector<IrValue> values;
  std::vector<NodeId> roots;  // what was asked for: Fetch nodes and operations run for their effect; never removed
  std::set<const Node*> trained{};  // variables that another part of the same run writes

 private:
  // What a node reads and waits for; nothing if it is dead.
  struct Edges {
    Edges() = default;
    explicit Edges(const IrNode& node)
        : inputs(node.dead ? IdList() : node.inputs), after(node.dead ? IdList() : node.after) {}
    IdList inputs{}, after{};
  };
  void link(NodeId id) { relink(id, {}); }
  void relink(NodeId id, const Edges& before);

  std::vector<IrNode> nodes_;
  std::vector<NodeId> producers_;  // by value; apart from the rest of it, since every pass follows them
  std::vector<IdList> readers_;    // by value
  std::vector<IdList> followers_;  // by node
  std::size_t changes_ = 0;
  mutable Depths depths_;
};

// Whether it gives the same for the same inputs and does nothing else, and waits for nothing.
bool is_pure(const IrNode& node);
// Every reader of `from` reads `to` instead.
void replace_uses(Ir& ir, ValueId from, ValueId to);
// `node` goes away and the readers of its outputs use `values` instead, one for each output. Nodes that waited for it
// now wait for the nodes that it waited for, and so do its readers.
void bypass(Ir& ir, NodeId node, const IdList& values);
// Nodes in an order that respects data and ordering edges; ties go to the lower number. Dead ones are left out.
std::vector<NodeId> topological(const Ir& ir);
// The same, but among the nodes that are ready the one with the smallest rank goes first.
using Rank = std::tuple<int, NodeId, NodeId>;
std::vector<NodeId> topological(const Ir& ir, FunctionRef<Rank(NodeId)> rank);
// Marks what no root needs as dead.
void remove_unneeded(Ir& ir);
// The one number that fills a constant, if the value is one.
std::optional<double> uniform_constant(const Ir& ir, ValueId value);
// The inputs of `node` that name variables which it overwrites.
const std::vector<int>& updated_inputs(const IrNode& node);
// Whether its output is its first input under another shape.
inline bool keeps_elements(const IrNode& node) { return node.def() != nullptr && node.def()->keeps_elements; }

}  // namespace belfry
