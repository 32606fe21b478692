// The callback that counts: global_step is the number of finished runs of the hooked session.
#pragma once

#include "belfry/graph/variable.h"
#include "belfry/loop/callback.h"

#pragma GCC visibility push(default)
namespace belfry {

// n in a user's before_run() of the (n+1)-th run, n + 1 in its after_run() and trigger_step(). Random ops of a hooked
// run draw by it. If the graph has a global_step() variable, the same run increments it, after all reads.
class StepCounter final : public Callback {
 public:
  void setup_graph() override;
  void before_train() override;
  HookRequest before_run(const RunContext&) override;
  void after_run(const RunContext&, const RunValues&) override;
  bool declares_metrics() const override { return true; }
  bool chief_only() const override { return false; }

 private:
  Variable variable_;
  Operation count_;
};

// The global step as a tensor, i64, for schedules that are part of the graph. Its variable, "global_step", is made at
// the first call and saved in checkpoints.
Tensor get_global_step();

}  // namespace belfry
#pragma GCC visibility pop
