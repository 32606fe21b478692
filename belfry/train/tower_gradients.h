// N towers' gradients -> one average each. The builder behind the synchronous trainers.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "belfry/nn/optimizer.h"

namespace belfry {

struct TowerSettings {
  std::vector<int> devices{};
  bool own_variables = false;  // each tower has variables of its own; only those of the first have no prefix
};

std::string device_name(int device);        // "cpu:1"
std::string tower_name(std::size_t index);  // "tower0"
// The prefix of a tower's variables: none for the first.
std::string tower_variable_scope(const TowerSettings& settings, std::size_t index);

// Builds a tower on each device and gives its gradients, as the optimizer computes them. `build` makes the cost.
std::vector<GradientsAndVariables> build_towers(const TowerSettings& settings, Optimizer& optimizer,
                                                const std::function<Tensor()>& build);

// The averages over the towers, summed in their order, one for each variable of the first tower; an empty tensor where
// there is no gradient. Throws, and names the variables, if some towers have a gradient and others not. The work is
// spread over the devices.
Tensors average_gradients(const std::vector<GradientsAndVariables>& towers, const std::vector<int>& devices);

// Puts each thing where the fewest bytes are so far.
class LeastLoaded {
 public:
  explicit LeastLoaded(std::vector<int> devices) : devices_(std::move(devices)), bytes_(devices_.size(), 0) {}
  std::string place(std::int64_t bytes);  // "cpu:1"

 private:
  std::vector<int> devices_;
  std::vector<std::int64_t> bytes_;
};

}  // namespace belfry
