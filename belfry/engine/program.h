// Program: what a set of fetches and feeds means, before shapes are known. Pruned and cut into parts once; plans for
// the shapes that come are linked from parts, which are compiled when a new shape reaches them and kept.
#pragma once

#include <list>
#include <memory>
#include <vector>

#include "belfry/engine/plan.h"

namespace belfry {

class Program {
 public:
  // `signature.fed` may be empty; the target outlives the program. Of each part, `kept` versions are remembered.
  Program(const Graph& graph, const Signature& signature, const CompileTarget& target, int kept = 32);

  // The plan for feeds of these dtypes and concrete shapes.
  std::unique_ptr<Plan> plan(const std::vector<TensorSpec>& fed);

  int parts() const { return static_cast<int>(partition_.parts.size()); }
  int compiled() const { return compiled_; }                 // how often a part went through the passes
  void collect_kept(std::set<const PartPlan*>& into) const;  // the parts that are remembered

 private:
  struct Version {
    std::vector<TensorInfo> inputs;  // of its Feed and Receive nodes
    std::vector<HeldValue> held;     // in its device's arena
    std::shared_ptr<const PartPlan> plan;
  };
  std::vector<std::shared_ptr<const PartPlan>> collect(const std::vector<TensorSpec>& fed);
  std::shared_ptr<const PartPlan> version(std::size_t part, std::vector<TensorInfo> inputs,
                                          const std::vector<HeldValue>& held);
  std::shared_ptr<const PartPlan> compile(std::size_t part, const std::vector<TensorInfo>& inputs,
                                          const std::vector<HeldValue>& held);

  CompileTarget target_;
  Partition partition_;
  std::shared_ptr<RunSlots> slots_;
  std::vector<std::list<Version>> versions_;  // by part; the most recently used first
  int kept_ = 0, compiled_ = 0;
};

}  // namespace belfry
