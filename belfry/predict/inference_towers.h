// InferenceTowers: what callbacks need from any trainer that has a tower function.
//
//   void setup_graph() override { predict_ = trainer().inference_towers().get_predictor({"image"}, {"prob"}); }
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "belfry/graph/device.h"
#include "belfry/predict/online_predictor.h"
#include "belfry/tower/tower_func.h"

#pragma GCC visibility push(default)
namespace belfry {

class InferenceTowers {
 public:
  virtual TowerFunc& tower_func() = 0;
  virtual const TowerTensorHandles& towers() const = 0;  // all that are built, those for training too

  // A function from tensors to tensors of an inference tower, by the names that the tower function gave them; an input
  // may be any tensor. The tower is built when first asked for, one per device, so ask before initialize(): in a
  // callback's setup_graph() at the latest. On device k it reads the variables of training tower k; no device means the
  // trainer's first. Throws if an output needs an input that is not given.
  virtual OnlinePredictor get_predictor(const std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
                                        const Device& device = {}, const Location& where = Location::current()) = 0;
  // The device, or the trainer's first if it is empty. Throws unless the trainer's session will have it.
  virtual Device inference_device(std::string_view caller, const Device& device) const = 0;
  // The inference tower itself, fed by what a function makes in the tower: a tensor for each entry of the signature.
  virtual const TowerTensorHandle& build_inference_tower(const std::string& name,
                                                         const std::function<Tensors()>& inputs,
                                                         const Device& device = {},
                                                         const Location& where = Location::current()) = 0;

 protected:
  ~InferenceTowers() = default;  // for the trainer, which owns it
};

}  // namespace belfry
#pragma GCC visibility pop
