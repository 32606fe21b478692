// Plan: a compiled run. A list of bound instructions and nothing left to decide.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "belfry/engine/arena.h"
#include "belfry/engine/ir.h"
#include "belfry/engine/passes.h"
#include "belfry/engine/profiler.h"

namespace belfry {

class DeviceTeam;

struct Instruction {
  Kernel* kernel = nullptr;
  NodeId node = kNone;
  int device = 0;
  std::vector<int> waits{};  // instructions of other devices that must have finished
  bool signals = false;      // another device waits for this one
};

class Plan {
 public:
  // The run: feeds and results are given as raw pointers in the order of the signature.
  void run(const Step& step, const std::vector<const void*>& feeds, const std::vector<void*>& results, DeviceTeam& team,
           Profiler* profiler);

  const std::vector<TensorInfo>& fetched() const { return fetched_; }       // plain; in the order of the fetches
  const std::vector<const Node*>& variables() const { return variables_; }  // read by this plan
  const std::vector<const Node*>& assigned() const { return assigned_; }    // written by this plan
  // Whether each of these has a value: the store's own flags, so that a step looks nothing up.
  const std::vector<const bool*>& variables_ready() const { return variables_ready_; }
  const std::vector<bool*>& assigned_ready() const { return assigned_ready_; }
  std::uint64_t generation() const { return generation_; }
  std::string explain() const;

  // For the profiler and explain().
  const Ir& ir() const { return ir_; }
  const std::vector<Instruction>& instructions() const { return instructions_; }

 private:
  friend class Emitter;
  void run_stream(int device, const Step& step, Profiler* profiler);
  void run_streams(const Step& step, DeviceTeam& team, Profiler* profiler);
  Ir ir_;
  MemoryPlan memory_;
  std::vector<KernelPtr> kernels_;
  std::vector<Instruction> instructions_;
  std::vector<std::vector<int>> streams_;  // by device: indices into instructions_
  std::vector<TensorInfo> fetched_;
  std::vector<const Node*> variables_, assigned_;
  std::vector<const bool*> variables_ready_;
  std::vector<bool*> assigned_ready_;
  std::vector<Array> constants_;
  // Shared by the streams of a run, without a lock: the two atomics. The rest is set before the streams start.
  std::unique_ptr<std::atomic<std::uint64_t>[]> events_;  // by instruction: the last run that finished it
  std::uint64_t runs_ = 0;
  std::vector<const void*> feed_slots_;
  std::vector<void*> fetch_slots_;
  std::atomic<bool> failed_ = false;  // an instruction threw: whoever waits for another stream gives up
  std::uint64_t generation_ = 0;
};

struct CompileTarget {
  VariableStore& store;
  std::vector<std::unique_ptr<Arena>>& arenas;  // one a device
  std::vector<DeviceInfo> devices;
};

// Runs all passes.
std::unique_ptr<Plan> compile(const Graph& graph, const Signature& signature, const CompileTarget& target);

}  // namespace belfry
