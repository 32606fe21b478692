// Trains two players per step on towers that do not wait for each other, like AsyncMultiDeviceTrainer for one cost.
#pragma once

#include "benchmarks/gan_trainer.h"

namespace belfry::bench {

class AsyncGanTrainer final : public TowerTrainer {
 public:
  AsyncGanTrainer(const GanModel& model, Devices devices, InputSourcePtr input);
  std::int64_t tower_steps() const override { return async_.updates(); }
  void run_step() override;

 protected:
  void end_steps() override { async_.stop(); }

 private:
  Operation build_step(const GanModel& model, Optimizer& optimizer, const Tensors& inputs);

  AsyncTowers async_;
};

}  // namespace belfry::bench
