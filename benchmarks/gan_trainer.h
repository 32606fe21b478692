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
  std::string g_scope{};  // what the generator's variables begin with
};

// Both costs as one tensor, "loss".
void report(const Tensor& d_cost, const Tensor& g_cost);

class GanTrainer final : public TowerTrainer {
 public:
  GanTrainer(const GanModel& model, const Towers& towers, InputSourcePtr input);

 private:
  // One update with the averages of the towers' gradients; of towers with variables of their own, one for each.
  std::vector<Operation> apply(const std::vector<GradientsAndVariables>& gradients, const std::string& name);
  Operation broadcast() const;  // the first tower's variables to the others

  std::vector<int> devices_;
  bool own_variables_;
  std::unique_ptr<Optimizer> optimizer_;
};

}  // namespace belfry::bench
