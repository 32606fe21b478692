// Program: a set of fetches and feeds before shapes are known. Pruned and cut into parts once; plans for the shapes
// that occur are linked from parts, which are compiled when a new shape reaches them and kept.
//
// If shapes depend on data, a run has stages. plan() returns the plan of the first; when that has run, its next() is
// the plan of the following one, for the sizes that were computed.
#pragma once

#include <list>
#include <memory>
#include <span>
#include <vector>

#include "belfry/engine/plan.h"

namespace belfry {

// What is known between two stages of a run.
struct Stage {
  int number = 0;  // of the next stage
  std::vector<TensorSpec> fed{};
  std::vector<TensorInfo> carried{};                      // by crossing, those made so far
  std::vector<std::shared_ptr<const LeftBehind>> left{};  // by device: what lies in its memory
  Ints sizes{};                                           // computed by stages before it
};

class Program : public std::enable_shared_from_this<Program> {
 public:
  // `signature.fed` may be empty; the target outlives the program. `kept` versions of each part are remembered, and as
  // many plans of each stage after the first.
  Program(const Signature& signature, const RunTarget& target, int kept = 32);

  // The plan for feeds of these dtypes and concrete shapes. A program with several stages must be owned by a
  // shared_ptr.
  std::unique_ptr<Plan> plan(const std::vector<TensorSpec>& fed);
  int parts() const { return static_cast<int>(partition_.parts.size()); }
  int compiled() const { return compiled_; }                     // how often a part went through the passes
  void collect_kept(std::set<const CompiledPart*>& into) const;  // the parts that are remembered

 private:
  struct Version {
    std::vector<TensorInfo> inputs;            // of its Feed and Receive nodes
    Ints sizes;                                // that its shapes depend on
    std::shared_ptr<const LeftBehind> before;  // in its device's memory
    std::shared_ptr<const CompiledPart> part;
  };
  using Parts = std::vector<std::shared_ptr<const CompiledPart>>;
  class Rest;
  struct Later {
    std::vector<TensorSpec> fed;
    Ints sizes;
    std::unique_ptr<Plan> plan;
  };
  // The stage after one that has just run, for the sizes that it has computed.
  Plan& next(const Stage& done, const std::vector<std::span<const std::int64_t>>& computed);
  // Where to find the sizes that a stage is planned for.
  std::vector<std::span<const std::int64_t>> computed_sizes(int stage) const;
  // A stage that is planned when the stages before it have run.
  std::string explain_rest(const Stage& stage) const;
  std::unique_ptr<Plan> plan_stage(const Stage& before);
  // The parts of the stage after `stage`, which is updated to what is known when those have run.
  Parts collect(Stage& stage);
  std::vector<TensorInfo> inputs_of(std::size_t part, const Stage& stage) const;
  std::shared_ptr<const CompiledPart> version(std::size_t part, Version wanted);
  std::shared_ptr<const CompiledPart> compile(std::size_t part, const Version& wanted);
  std::size_t first_part(int stage) const;
  // The crossings whose elements, needed for shapes, earlier stages have computed, in the order of Stage::sizes.
  std::vector<std::size_t> sizes_before(std::size_t part) const;

  RunTarget target_;
  Partition partition_;
  std::shared_ptr<RunSlots> slots_;
  std::vector<std::list<Version>> versions_;  // by part; the most recently used first
  std::vector<std::list<Later>> later_;       // by stage; the most recently used first
  Ints sizes_;                                // of the last run
  int kept_ = 0, compiled_ = 0;
};

}  // namespace belfry
