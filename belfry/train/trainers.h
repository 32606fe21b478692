// The trainers for models with a single cost. They differ in what an iteration is; the model stays the same.
#pragma once

#include <string>
#include <vector>

#include "belfry/train/single_cost_trainer.h"
#include "belfry/train/tower_gradients.h"

#pragma GCC visibility push(default)
namespace belfry {

// One tower, one update.
class SimpleTrainer : public SingleCostTrainer {
 protected:
  void build(InputSource& input, Optimizer& optimizer) override;
};

// The old name for SimpleTrainer with a QueueInput.
class QueueInputTrainer final : public SimpleTrainer {
 protected:
  void build(InputSource& input, Optimizer& optimizer) override;
};

// Builds the tower and runs only callbacks: an iteration is an empty hooked run.
class NoOpTrainer final : public SimpleTrainer {
 public:
  void run_step() override { hooked_session().run({}, {}, {}, trained_at()); }
};

// What trainers on several devices share.
class MultiDeviceTrainer : public SingleCostTrainer {
 public:
  explicit MultiDeviceTrainer(Devices devices, const Location& where = Location::current())
      : SingleCostTrainer(std::move(devices), where) {}

 protected:
  // Builds a tower per device; returns each one's gradients.
  std::vector<GradientsAndVariables> build_all(const TowerSettings& settings, InputSource& input, Optimizer& optimizer);
};

// One copy of the variables. The gradients of all towers, each of its own point, are averaged in the order of the
// towers and applied once; the work of both is spread over the devices.
class SyncMultiDeviceTrainerParameterServer : public MultiDeviceTrainer {
 public:
  using MultiDeviceTrainer::MultiDeviceTrainer;

 protected:
  void build(InputSource& input, Optimizer& optimizer) override;
};

// A copy of the variables per tower; the first tower's has no prefix and is the one that is saved. Every tower applies
// the same averages of the gradients to its copy, so that the copies stay equal. An average is computed once, on one of
// the devices, or, if that is less work, in every tower (see averages_by_tower()). The copies are made equal at the
// start and after each epoch.
class SyncMultiDeviceTrainerReplicated final : public MultiDeviceTrainer {
 public:
  using MultiDeviceTrainer::MultiDeviceTrainer;

 protected:
  void build(InputSource& input, Optimizer& optimizer) override;
  std::string variables_on(const Device& device) const override;
};

// The better of the two for its devices. CPU devices share their memory, so further copies of the variables only cost
// time: it is the one with a single copy, which is as fast or faster for every suite of ./bench (--trainer ps,
// --trainer replicated).
class SyncMultiDeviceTrainer final : public SyncMultiDeviceTrainerParameterServer {
 public:
  using SyncMultiDeviceTrainerParameterServer::SyncMultiDeviceTrainerParameterServer;
};

}  // namespace belfry
#pragma GCC visibility pop
