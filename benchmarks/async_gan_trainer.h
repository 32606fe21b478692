// Two players a step on towers that do not wait for one another: what AsyncMultiDeviceTrainer does for a single cost.
#pragma once

#include "benchmarks/gan_trainer.h"

namespace belfry::bench {

class AsyncGanTrainer final : public TowerTrainer {
 public:
  AsyncGanTrainer(const GanModel& model, Devices devices, InputSourcePtr input);
  // Steps of all towers so far.
  std::int64_t async_updates() const { return static_cast<std::int64_t>(session().value(updates_).item()); }
  void run_step() override;

 protected:
  void end_steps() override { others_running_.stop(); }

 private:
  Operation build_step(const GanModel& model, Optimizer& optimizer, const Tensors& inputs);

  std::vector<AsyncTowers::Tower> others_;
  AsyncTowers others_running_;
  Variable updates_;
};

}  // namespace belfry::bench
