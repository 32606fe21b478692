// Two players a step on several towers: the discriminator's update, then the generator's, against the discriminator as
// it is after its own.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "benchmarks/suite.h"

namespace belfry::bench {

struct GanModel {
  std::vector<TensorSpec> signature{};
  GetOptimizer optimizer{};
  // The tower function: {generated images, the discriminator's cost, in which they are not differentiated}.
  std::function<Tensors(const Inputs&)> d_tower{};
  // The generator's cost of its images, with the discriminator's variables as they are after `update`.
  std::function<Tensor(const Tensor& images, const Operation& update)> g_cost{};
  std::string d_scope{}, g_scope{};  // what the variables of each begin with

  // Of those that a tower trains.
  static std::vector<Variable> under(const std::string& scope, const TowerTensorHandle& tower);
};

// Both costs as one tensor, "loss".
void report(const Tensor& d_cost, const Tensor& g_cost);

class GanTrainer final : public TowerTrainer {
 public:
  // Towers that share the variables, or have variables of their own.
  GanTrainer(const GanModel& model, Devices devices, bool own_variables, InputSourcePtr input);

 private:
  // One update with the averages of the towers' gradients; of towers with variables of their own, one for each.
  std::vector<Operation> apply(const std::vector<GradientsAndVariables>& gradients, const std::string& name);

  bool own_variables_;
  std::unique_ptr<Optimizer> optimizer_;
};

}  // namespace belfry::bench
