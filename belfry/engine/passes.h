// The compiler's passes, in the order they run. Each is one file with one function, tested on its own.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "belfry/engine/ir.h"
#include "belfry/engine/precision.h"

namespace belfry {

class AlgorithmTable;
class VariableStore;

// What a run asks for and is given.
struct Signature {
  std::vector<Tensor> fetches;     // tensors whose values are wanted
  std::vector<Operation> targets;  // operations run for their effect
  std::vector<Tensor> feeds;       // tensors that are given
  std::vector<TensorSpec> fed;     // the dtype and concrete shape of each
};

struct DeviceInfo {
  int threads = 1;
  DeviceKind kind = DeviceKind::cpu;
};

// 1. What the fetches need and nothing else. Fed tensors become "Feed" nodes, wanted ones end in "Fetch" nodes.
Ir prune(const Graph& graph, const Signature& signature, int devices);
// What a run does on one device between exchanges with the others. Everything below this pass sees one part at a time,
// so a plan is linked from parts that were compiled on their own.
struct Part {
  Ir ir{};  // a "Receive" node for each thing that comes from another part, a "Send" node for each that goes to one
  int number = 0;
  int device = 0;
  // A write of `variable` here must wait for the reads of it in part `reader`.
  struct Hazard {
    const Node* variable = nullptr;
    int reader = 0;
    auto operator<=>(const Hazard&) const = default;
  };
  std::vector<Hazard> hazards{};
};
// What goes from one part to others: a value, only its shape, or only the news that something is done.
struct Crossing {
  enum class Kind { value, shape, event } kind = Kind::value;
  int from = 0;           // part
  ValueId value = kNone;  // in that part's Ir
  const Node* origin = nullptr;
  int output = 0;           // of the origin
  int copy = 0;             // counts crossings of the same output
  int last_reader = kNone;  // part
  // Some reader runs on another device than `from`, or is planned for the elements: they lie outside the arenas.
  bool leaves_device = false;
  bool sizes = false;  // shapes in later parts follow from the elements
};
struct Partition {
  std::vector<Part> parts;          // a part waits only for parts before it
  std::vector<Crossing> crossings;  // by the "crossing" attribute of Send and Receive
  // Where shapes follow from data, parts from here on can be planned only when all before have run. Begins with 0.
  std::vector<int> stages{0};
};
// Between 1 and 2. Parts are as large as possible: with one device there is one, unless shapes follow from data.
Partition partition(Ir ir, const std::vector<DeviceInfo>& devices);
// 2. Every shape made concrete by running the ops' own shape rules again. `given` are values that other parts computed
// and that sizes follow from.
void infer_shapes(Ir& ir, const std::map<ValueId, Array>& given = {});
// 3. Constants computed, equal ops merged, identities and dead ends removed.
void simplify(Ir& ir);
// What products multiply, where the session asks for bf16 (see precision.h).
void lower_precision(Ir& ir, Precision precision, const std::vector<DeviceInfo>& devices);
// 4. Neighbours that can share a pass over memory become one op.
void fuse(Ir& ir);
// Values of marked segments (RecomputeScope) that gradients read are computed a second time for them.
void recompute(Ir& ir);
// Reads before assignments: adds ordering edges, snapshots where that would be a cycle; unordered assignments throw.
void order_variables(Ir& ir);
// With autotune only: the table's choice as the attribute kAlgorithm of every node whose kernel has one; what the table
// lacks is timed here, on memory of its own, and written to the table's file.
void choose_algorithms(Ir& ir, AlgorithmTable& table, const std::vector<DeviceInfo>& devices);
// 5. A layout for every value; reorders where two sides cannot agree. Decides the layouts of undecided variables.
void assign_layouts(Ir& ir, VariableStore& store, const std::vector<DeviceInfo>& devices);
// What crosses to another part is made where that part looks for it, or copied there.
void settle_sends(Ir& ir, const std::vector<Crossing>& crossings);
// 6. The order in which a part runs.
std::vector<NodeId> schedule(const Ir& ir);

// 7. Where each value lives: an offset into the device's arena, or the value whose memory it shares.
struct MemoryPlan {
  std::vector<std::size_t> offsets;  // by value; kNowhere if it is not in an arena
  std::vector<ValueId> same_as;      // by value: the value whose memory it uses, or kNone
  std::vector<std::size_t> scratch;  // by node: offset of its scratch memory, kNowhere if it has none
  std::size_t arena_bytes = 0;
  static constexpr std::size_t kNowhere = ~std::size_t{0};
  // The value in whose memory this one lies: itself, if it does not share another's.
  ValueId holder(ValueId v) const {
    while (same_as[static_cast<std::size_t>(v)] != kNone) v = same_as[static_cast<std::size_t>(v)];
    return v;
  }
};
// A value that an earlier part of the same device left in the arena for this part or later ones.
struct HeldValue {
  int crossing = kNone;
  std::size_t offset = 0, bytes = 0;
  bool ends = false;  // no part behind this one reads it
  bool operator==(const HeldValue&) const = default;
};
MemoryPlan plan_memory(const Ir& ir, const std::vector<NodeId>& order, const std::vector<std::size_t>& scratch_bytes,
                       const std::vector<HeldValue>& held = {});
// For explain(): the arena that a compiled part would need if nothing were recomputed: planned once more with the
// copies taken out of the schedule and their originals kept for their readers.
std::size_t arena_without_recompute(const Ir& ir, const std::vector<std::size_t>& scratch_bytes,
                                    const std::vector<HeldValue>& held = {});

// Computes one node on the spot, for constant folding: plain layouts, one thread.
std::vector<Array> evaluate(const IrNode& node, const std::vector<Array>& inputs,
                            const std::vector<TensorInfo>& outputs);

}  // namespace belfry
