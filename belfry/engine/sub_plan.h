// A sub-graph compiled for one device, run by the kernel of the node that holds it (a branch, the body of a loop). Its
// memory is its own.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "belfry/engine/part_plan.h"
#include "belfry/engine/variable_store.h"
#include "belfry/graph/subgraph.h"

namespace belfry {

class SubPlan {
 public:
  // For inputs of these shapes, as part of the kernel that is made: its threads, its precision.
  SubPlan(const SubGraph& function, std::span<const TensorInfo> inputs, const KernelContext& within);

  const std::vector<TensorInfo>& outputs() const { return outputs_; }  // plain
  std::size_t bytes() const;                                           // that it computes in
  // Plain memory of the inputs and outputs. Results may lie where inputs do: those are read first.
  void run(const Step& step, std::span<const void* const> inputs, std::span<void* const> outputs);

 private:
  VariableStore store_;  // empty: a sub-graph has no variables
  std::vector<std::unique_ptr<Arena>> arenas_;
  CrossingMemory crossings_;
  RunSlots slots_;
  std::unique_ptr<PartPlan> plan_;
  std::vector<TensorInfo> outputs_;
};

}  // namespace belfry
