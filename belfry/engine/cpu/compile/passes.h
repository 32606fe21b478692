// The CPU's passes, in the order they run, on a part that the engine's passes have prepared. Each is one file with one
// function, tested separately.
#pragma once

#include <vector>

#include "belfry/engine/cpu/kernel/kernel_of.h"
#include "belfry/engine/passes.h"
#include "belfry/engine/precision.h"

namespace belfry {

class AlgorithmTable;
class VariableStore;

// The value whose memory a view, or a view of a view, shows.
ValueId viewed_value(const Ir& ir, ValueId value);

// Rounds the factors of products if the session asks for bf16 (see precision.h).
void lower_precision(Ir& ir, Precision precision, const std::vector<DeviceInfo>& devices);
// 4. Fuses neighbours that can share a pass over memory into one op.
void fuse(Ir& ir);
// Values of marked segments (RecomputeScope) that gradients read are computed a second time for them.
void recompute(Ir& ir);
// With autotune only: sets the table's choice as the attribute kAlgorithm of every node whose kernel offers a choice;
// what the table lacks is timed here, in separate memory, and written to the table's file.
void choose_algorithms(Ir& ir, AlgorithmTable& table, const std::vector<DeviceInfo>& devices);
// 5. Chooses a layout for every value; adds reorders where two sides differ. Decides the layouts of undecided
// variables.
void assign_layouts(Ir& ir, VariableStore& store, const std::vector<DeviceInfo>& devices,
                    const std::vector<Crossing>& crossings = {});
// Values that cross to another part are made where that part expects them, or copied there.
void settle_sends(Ir& ir, const std::vector<Crossing>& crossings);
// 6. The order in which a part runs.
std::vector<NodeId> schedule(const Ir& ir);

// 7. Decides where each value lives: at an offset in the device's arena, or in another value's memory.
struct MemoryPlan {
  std::vector<std::size_t> offsets;  // by value; kNowhere if it is not in an arena
  std::vector<ValueId> same_as;      // by value: the value whose memory it uses, or kNone
  std::vector<std::size_t> scratch;  // by node: offset of its scratch memory, kNowhere if it has none
  std::size_t arena_bytes = 0;
  static constexpr std::size_t kNowhere = ~std::size_t{0};
  // The value whose memory this one uses: itself, unless it shares another's.
  ValueId holder(ValueId v) const {
    while (same_as[static_cast<std::size_t>(v)] != kNone) v = same_as[static_cast<std::size_t>(v)];
    return v;
  }
};
// A value that an earlier part of the same device left in the arena for this part or later ones.
struct HeldValue {
  int crossing = kNone;
  std::size_t offset = 0, bytes = 0;
  bool ends = false;  // no later part reads it
  bool operator==(const HeldValue&) const = default;
};
// What a part begins with.
struct GivenMemory {
  std::vector<HeldValue> held{};
  int carried_feeds = 0;  // CompileTarget::carried_feeds
};
MemoryPlan plan_memory(const Ir& ir, const std::vector<NodeId>& order, const std::vector<std::size_t>& scratch_bytes,
                       const GivenMemory& given = {});
// For explain(): the arena that a compiled part would need if nothing were recomputed: planned again without the
// copies, whose readers read the originals.
std::size_t arena_without_recompute(const Ir& ir, const std::vector<std::size_t>& scratch_bytes,
                                    const GivenMemory& given = {});

}  // namespace belfry
