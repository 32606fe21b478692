// AsyncMultiDeviceTrainer: towers that do not wait for one another.
//
//   AsyncMultiDeviceTrainer trainer(cpu_devices(2));
//   launch_train_with_config(std::move(config), trainer);
#pragma once

#include "belfry/train/async_towers.h"
#include "belfry/train/trainers.h"

#pragma GCC visibility push(default)
namespace belfry {

struct AsyncOptions {
  bool scale_gradients = true;  // by 1/N: N towers that make N steps move the variables as far as one that makes one
};

// Each tower loops over runs of its own: it computes with the variables as they are when the run starts and updates the
// shared ones without waiting for the others. The first tower's run is the hooked one: it defines global_step,
// iteration and the epoch. The others pause from before after_epoch() to the next epoch, and while a checkpoint is
// written or inference runs. Each update of a variable is atomic, but a step may see some variables before and some
// after another tower's update, so results differ from run to run. The end or an error of any tower ends all.
class AsyncMultiDeviceTrainer final : public MultiDeviceTrainer {
 public:
  explicit AsyncMultiDeviceTrainer(Devices devices, AsyncOptions options = {},
                                   const Location& where = Location::current());

  // The updates of all towers so far; also the scalar "async_updates" of each epoch.
  std::int64_t async_updates() const { return towers_.updates(); }
  std::int64_t tower_steps() const override { return async_updates(); }

  void run_step() override;
  std::vector<Operation> train_ops() const override;

 protected:
  void build(InputSource& input, Optimizer& optimizer) override;
  std::vector<Tensor> costs_of_step() const override { return {costs().front()}; }
  void end_steps() override { towers_.stop(); }

 private:
  AsyncOptions options_;
  AsyncTowers towers_;
};

}  // namespace belfry
#pragma GCC visibility pop
