// Trains two players per step on several towers: the discriminator's update, then the generator's, against the updated
// discriminator.
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
  std::string d_scope{}, g_scope{};  // prefixes of each player's variables

  // Of those that a tower trains.
  static std::vector<Variable> under(const std::string& scope, const TowerTensorHandle& tower);
};

// Both costs as one tensor, "loss".
void report(const Tensor& d_cost, const Tensor& g_cost);

class GanTrainer final : public TowerTrainer {
 public:
  // Towers that share the variables, or have their own.
  GanTrainer(const GanModel& model, Devices devices, bool own_variables, InputSourcePtr input);

 private:
  // One update with the averages of the towers' gradients; if towers have their own variables, one for each.
  std::vector<Operation> apply(const std::vector<GradientsAndVariables>& gradients, const std::string& name);

  bool own_variables_;
  std::unique_ptr<Optimizer> optimizer_;
};

}  // namespace belfry::bench
