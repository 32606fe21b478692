// Bare steps and steps through a trainer's loop, timed in the same way.
#pragma once

#include <memory>

#include "benchmarks/plain_step.h"

namespace belfry::bench {

// Inputs whose data are ready: the suite's first batch, in variables. (What depends only on constants would be computed
// just once.)
Tensors waiting_inputs(const Suite& suite);

struct StepCount {
  int warmup = 0, timed = 0;
};

// The bare session step of such inputs.
class BareStep {
 public:
  BareStep(const Suite& suite, int threads);
  double seconds(const StepCount& steps) const;  // of one

 private:
  std::unique_ptr<Graph> graph_ = std::make_unique<Graph>();
  std::unique_ptr<Session> session_;
  Callable step_;
};

// Measures the steps of an epoch.
class TimedSteps final : public Callback {
 public:
  TimedSteps(const StepCount& steps, double& seconds) : steps_(steps), seconds_(seconds) {}
  void trigger_step() override;

 private:
  StepCount steps_;
  double& seconds_;  // of one
  double begin_ = 0;
};

}  // namespace belfry::bench
