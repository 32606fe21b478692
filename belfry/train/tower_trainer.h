// TowerTrainer: a trainer that has a tower function, and so can build inference towers. Trainers of one's own derive
// from it; tower_gradients.h helps those with several towers.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "belfry/loop/trainer.h"
#include "belfry/predict/online_predictor.h"
#include "belfry/tower/tower_func.h"
#include "belfry/train/devices.h"

namespace belfry {

class TowerTrainer : public Trainer {
 public:
  // The devices that have towers, each once, in any order. The session gets them: if the user's SessionConfig has one
  // device of no particular number of threads, it is divided, and each gets an equal share of the cores: at least one.
  explicit TowerTrainer(Devices devices = {0}, const Location& where = Location::current());
  const Devices& devices() const { return devices_; }  // ascending

  // Once. The function keeps the rules in tower_func.h.
  template <class F>
  void set_tower_func(F function, std::vector<TensorSpec> signature, TowerFuncOptions options = {}) {
    set_tower_func(TowerFunc(std::move(function), std::move(signature), std::move(options)));
  }
  void set_tower_func(TowerFunc function);
  TowerFunc& tower_func();
  const TowerTensorHandles& towers() const;

  // A function from tensors to tensors of an inference tower, by the names that the tower function gave them; an input
  // may be any tensor. The tower is built when first asked for, one a device, so before initialize(): in a callback's
  // setup_graph() at the latest. On device k it reads the variables of training tower k. An output that needs an input
  // which is not given is an error here.
  OnlinePredictor get_predictor(const std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
                                const Device& device = 0, const Location& where = Location::current());
  // Throws unless it is one that the trainer's session will have.
  void check_device(std::string_view caller, const Device& device) const;
  // The inference tower itself, fed by `inputs`, one for each of the signature; or by what a function makes in the
  // tower.
  const TowerTensorHandle& build_inference_tower(const std::string& name, const Tensors& inputs,
                                                 const Device& device = 0, const Location& where = Location::current());
  const TowerTensorHandle& build_inference_tower(const std::string& name, const std::function<Tensors()>& inputs,
                                                 const Device& device = 0, const Location& where = Location::current());

 protected:
  Tensor find_tensor(std::string_view name) const override;
  // The prefix of the variables that a predictor on this device reads.
  virtual std::string variables_on(const Device& /*device*/) const { return ""; }
  SessionConfig adapt(SessionConfig config) const override;
  void forget_tower_func() { tower_func_ = {}; }  // after a setup that failed

 private:
  Devices devices_;
  Location where_;
  TowerFunc tower_func_;
  std::set<std::string> predict_towers_;  // those of get_predictor() that are built
};

}  // namespace belfry
