// PartPlan: one part of a run, compiled. A list of bound instructions and nothing left to decide. Knows what it waits
// for and what others may wait for, but not from whom or by whom: plans link it.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <vector>

#include "belfry/engine/cpu/compile/host_kernels.h"
#include "belfry/engine/cpu/memory/arena.h"
#include "belfry/engine/crossing_memory.h"
#include "belfry/engine/passes.h"

namespace belfry {

class VariableSnapshots;

struct Instruction {
  Kernel* kernel = nullptr;
  NodeId node = kNone;
};

// Where a run's feeds and results lie; the same for all plans of a program.
struct RunSlots {
  std::vector<const void*> feeds;
  std::vector<void*> results;
};

struct CompileTarget {
  VariableStore& store;
  std::vector<std::unique_ptr<Arena>>& arenas;  // one a device
  CrossingMemory& crossings;
  std::vector<DeviceInfo> devices;
  AlgorithmTable* algorithms = nullptr;  // autotune's, if it is on
  QueueStore* queues = nullptr;          // the session's
  Precision precision = Precision::f32;
  // So many first feeds are carried: in the next run they are what results of the same number were in this one. They
  // are copied into memory that the plan keeps for them, where they may be updated in place.
  int carried_feeds = 0;
  // Where several sessions share the variables: this one's snapshots (see shared_variables.h). A program of several
  // parts does without: it runs while no other session does.
  VariableSnapshots* snapshots = nullptr;
};

struct PartPlan {
  Ir ir{};
  int device = 0;
  MemoryPlan memory{};
  std::vector<KernelPtr> kernels{};  // by node
  std::vector<Instruction> instructions{};
  std::vector<Array> constants{};
  std::map<ValueId, std::unique_ptr<FedValue>> fed{};
  std::uint64_t generation = 0;  // of the variables' layouts and the crossings' memory that it was bound to

  // Positions count instructions: "done at 3" is when the first three have run.
  std::map<int, int> needed_at{};  // by crossing received: the first instruction that waits for it
  std::map<int, int> done_at{};    // by crossing sent
  std::map<const Node*, int> first_write{}, last_read{};  // by variable: the instruction
  std::map<int, TensorInfo> sent{};                       // by crossing: what it carries (of a shape, its shape)
  std::map<int, TensorInfo> fetched{};                    // by fetch
  std::vector<HeldValue> held{};                          // what lies in the arena when the part starts
  std::vector<HeldValue> left{};                          // what it adds to that for later parts of its device
  // Variables that must have a value before this part runs, and those that it leaves with one.
  std::vector<const Node*> read{}, written{};
  std::set<const Node*> assigned{};  // written as a whole, without being read

  std::size_t own_bytes() const;  // that kernels hold themselves
};

// All passes from the shapes on. The infos of the part's Feed and Receive nodes are concrete already. `held` is what
// earlier parts of the device left in the arena, `sizes` are the elements of what it receives and shapes follow from.
std::unique_ptr<PartPlan> compile_part(Part part, const std::vector<Crossing>& crossings, RunSlots& slots,
                                       const CompileTarget& target, std::vector<HeldValue> held = {},
                                       const std::map<ValueId, Array>& sizes = {});

// The last of them: kernels created, memory placed, pointers bound.
std::unique_ptr<PartPlan> emit(Part part, std::vector<NodeId> order, const std::vector<Crossing>& crossings,
                               RunSlots& slots, const CompileTarget& target, std::vector<HeldValue> held);

// What bound pointers depend on; grows with every change.
std::uint64_t generation_of(const CompileTarget& target);

}  // namespace belfry
