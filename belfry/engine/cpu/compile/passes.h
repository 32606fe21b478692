// The CPU's passes, in the order they run, on a part that the engine's own have prepared. Each is one file with one
// function, tested on its own.
#pragma once

#include <vector>

#include "belfry/engine/cpu/kernel/kernel_of.h"
#include "belfry/engine/passes.h"
#include "belfry/engine/precision.h"

namespace belfry {

class AlgorithmTable;
class VariableStore;

// The value whose memory a view, or a view of a view, shows.
ValueId behind_views(const Ir& ir, ValueId value);

// What products multiply, where the session asks for bf16 (see precision.h).
void lower_precision(Ir& ir, Precision precision, const std::vector<DeviceInfo>& devices);
// 4. Neighbours that can share a pass over memory become one op.
void fuse(Ir& ir);
// Values of marked segments (RecomputeScope) that gradients read are computed a second time for them.
void recompute(Ir& ir);
// With autotune only: the table's choice as the attribute kAlgorithm of every node whose kernel has one; what the table
// lacks is timed here, on memory of its own, and written to the table's file.
void choose_algorithms(Ir& ir, AlgorithmTable& table, const std::vector<DeviceInfo>& devices);
// 5. A layout for every value; reorders where two sides cannot agree. Decides the layouts of undecided variables.
void assign_layouts(Ir& ir, VariableStore& store, const std::vector<DeviceInfo>& devices,
                    const std::vector<Crossing>& crossings = {});
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
// What a part begins with.
struct GivenMemory {
  std::vector<HeldValue> held{};
  int carried_feeds = 0;  // CompileTarget::carried_feeds
};
MemoryPlan plan_memory(const Ir& ir, const std::vector<NodeId>& order, const std::vector<std::size_t>& scratch_bytes,
                       const GivenMemory& given = {});
// For explain(): the arena that a compiled part would need if nothing were recomputed: planned once more with the
// copies taken out of the schedule and their originals kept for their readers.
std::size_t arena_without_recompute(const Ir& ir, const std::vector<std::size_t>& scratch_bytes,
                                    const GivenMemory& given = {});

}  // namespace belfry
