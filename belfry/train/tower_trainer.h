// TowerTrainer: a trainer that has a tower function, and so can build inference towers. Trainers that you write derive
// from it; tower_gradients.h helps those with several towers.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "belfry/loop/trainer.h"
#include "belfry/predict/inference_towers.h"
#include "belfry/train/devices.h"

#pragma GCC visibility push(default)
namespace belfry {

class TowerTrainer : public Trainer, public InferenceTowers {
 public:
  // The devices that have towers, each once, in any order. The session gets them: if the user's SessionConfig has one
  // device without a number of threads, that is divided, and each gets an equal share of the cores, at least one.
  // Without devices there is one tower, on the session's first device, of whatever kind.
  explicit TowerTrainer(Devices devices = {Device()}, const Location& where = Location::current());
  const Devices& devices() const { return devices_; }  // ascending; an empty one is the session's first
  // Runs of all towers so far. Here each tower runs once in each run_step().
  virtual std::int64_t tower_steps() const { return iteration() * static_cast<std::int64_t>(devices_.size()); }

  // To be called once. The function must follow the rules in tower_func.h.
  template <class F>
  void set_tower_func(F function, std::vector<TensorSpec> signature, TowerFuncOptions options = {}) {
    set_tower_func(TowerFunc(std::move(function), std::move(signature), std::move(options)));
  }
  void set_tower_func(TowerFunc function);

  // See InferenceTowers.
  TowerFunc& tower_func() override;
  const TowerTensorHandles& towers() const override;
  OnlinePredictor get_predictor(const std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
                                const Device& device = {}, const Location& where = Location::current()) override;
  Device inference_device(std::string_view caller, const Device& device) const override;
  const TowerTensorHandle& build_inference_tower(const std::string& name, const std::function<Tensors()>& inputs,
                                                 const Device& device = {},
                                                 const Location& where = Location::current()) override;
  // The same for tensors that exist already.
  const TowerTensorHandle& build_inference_tower(const std::string& name, const Tensors& inputs,
                                                 const Device& device = {},
                                                 const Location& where = Location::current());

 protected:
  InferenceTowers* find_inference_towers() override { return this; }
  Tensor find_tensor(std::string_view name) const override;
  // The prefix of the variables that a predictor on this device reads.
  virtual std::string variables_on(const Device& /*device*/) const { return ""; }
  SessionConfig adapt(SessionConfig config) const override;
  void forget_tower_func() { tower_func_ = {}; }  // after a failed setup

 private:
  bool on_first_device() const { return devices_.size() == 1 && devices_[0].empty(); }
  Devices devices_;
  Location where_;
  TowerFunc tower_func_;
  std::set<std::string> predict_towers_;  // those built for get_predictor() so far
};

}  // namespace belfry
#pragma GCC visibility pop
