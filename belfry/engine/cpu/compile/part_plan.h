// PartPlan: one part of a run, compiled for a set of cores: a list of bound instructions.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <vector>

#include "belfry/engine/backend.h"
#include "belfry/engine/cpu/compile/host_kernels.h"
#include "belfry/engine/cpu/compile/passes.h"
#include "belfry/engine/cpu/memory/arena.h"

namespace belfry {

class VariableSnapshots;

struct Instruction {
  Kernel* kernel = nullptr;
  NodeId node = kNone;
};

struct CompileTarget {
  VariableStore& store;
  std::vector<std::unique_ptr<Arena>>& arenas;  // one per device
  CrossingMemory& crossings;
  std::vector<DeviceInfo> devices;
  AlgorithmTable* algorithms = nullptr;  // autotune's, if it is on
  QueueStore* queues = nullptr;          // the session's
  Precision precision = Precision::f32;
  // This many first feeds are carried: in the next run their values are the results of the same number in this one.
  // They are copied into memory that the plan keeps for them, where they may be updated in place.
  int carried_feeds = 0;
  // If several sessions share the variables: this one's snapshots (see shared_variables.h). A program of several parts
  // needs none: it runs while no other session does.
  VariableSnapshots* snapshots = nullptr;
};

class PartPlan final : public CompiledPart {
 public:
  // Runs it, on the calling thread.
  void launch(PartRun& run) const override;
  void explain(Explanation& out) const override;
  PartMemory memory() const override;

  Ir ir{};
  MemoryPlan memory_plan{};
  std::vector<KernelPtr> kernels{};         // by node
  std::vector<Instruction> instructions{};  // their numbers are its positions
  std::vector<Array> constants{};
  std::map<ValueId, std::unique_ptr<FedValue>> fed{};
  GivenMemory given{};            // what is in the arena when the part starts
  std::vector<HeldValue> left{};  // what it leaves there for later parts of its device

  std::size_t own_bytes() const;  // held by kernels themselves
};

// What parts of a device have left in its arena.
struct LeftInArena final : LeftBehind {
  explicit LeftInArena(std::vector<HeldValue> v) : values(std::move(v)) {}
  bool equals(const LeftBehind& other) const override {
    return values == static_cast<const LeftInArena&>(other).values;
  }
  std::vector<HeldValue> values;
};

// For Backend::explain().
std::string explain_parts(const std::vector<const CompiledPart*>& parts, const MemoryUse& use, Precision precision);

// All of the CPU's passes, on a part that prepare_part() has prepared. `held` is what earlier parts of the device left
// in the arena.
std::unique_ptr<PartPlan> compile_part(Part part, const std::vector<Crossing>& crossings, RunSlots& slots,
                                       const CompileTarget& target, std::vector<HeldValue> held = {});

// The last pass: creates kernels, places memory, binds pointers.
std::unique_ptr<PartPlan> emit(Part part, std::vector<NodeId> order, const std::vector<Crossing>& crossings,
                               RunSlots& slots, const CompileTarget& target, std::vector<HeldValue> held);

}  // namespace belfry
