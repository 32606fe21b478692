// A sub-graph compiled for one device, run by the kernel of the node that holds it (a branch, the body of a loop). It
// has separate memory.
#pragma once

#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "belfry/base/random.h"
#include "belfry/engine/cpu/compile/part_plan.h"
#include "belfry/engine/cpu/memory/variable_store.h"
#include "belfry/graph/internal/subgraph.h"

namespace belfry {

// Every iteration of a loop draws different random numbers, and its gradient the same ones.
inline Step step_of_pass(const Step& step, std::int64_t pass) {
  return {.number = mix_seed(step.number, static_cast<std::uint64_t>(pass)), .seed = step.seed};
}
// An empty tensor has no memory.
inline void copy_tensor(void* to, const void* from, std::size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}

class SubPlan {
 public:
  // For inputs of these shapes, with the threads and precision of the kernel that is made. In each run the first
  // `carried` inputs are the outputs of the same number in the run before: see run().
  SubPlan(const SubGraph& function, std::span<const TensorInfo> inputs, const KernelContext& within,
          std::size_t carried = 0);

  const std::vector<TensorInfo>& outputs() const { return outputs_; }  // plain
  std::size_t bytes() const;                                           // of the memory it computes in
  bool reads(std::size_t input) const;                                 // whether anything depends on it
  // Plain memory of the inputs and outputs. Only carried inputs may lie where outputs do.
  void run(const Step& step, std::span<const void* const> inputs, std::span<void* const> outputs);

  // Where a carried value lies that is updated in place; else nullptr. For such a value, a null input means the one
  // that the run before left there, and a null output is left there.
  const void* in_place(std::size_t carried) const { return in_place_[carried]; }

 private:
  const void* find_in_place(int carried) const;

  VariableStore store_;  // empty: a sub-graph has no variables
  std::vector<std::unique_ptr<Arena>> arenas_;
  CrossingMemory crossings_;
  RunSlots slots_;
  std::unique_ptr<PartPlan> plan_;
  std::vector<TensorInfo> outputs_;
  std::vector<const void*> in_place_;  // by carried value
};

}  // namespace belfry
