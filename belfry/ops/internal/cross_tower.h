// A sum across towers: for layers that work on the batches of all towers together. Internal to layers.
//
// Towers are built one after the other, so the op of one cannot name the tensors of the others. Each tower makes its
// own op, and those of one group meet when a session runs them: each gives the sum of the inputs of all.
#pragma once

#include <string>
#include <string_view>

#include "belfry/graph/tensor.h"

namespace belfry {

// The same place of the tower function in every tower.
struct CrossTowerGroup {
  std::string layer{};  // its kind, for errors: "batch_norm"
  std::string name{};   // without the tower's prefix. If a tower uses it again, it becomes "name_1", and so on
  int tower = 0;
  int total = 1;  // how many towers have it
};

// The sum of the x of all towers, in their order: bit-identical in each. All have one shape. The gradient that arrives
// in one tower is summed with those of the others, so each tower gets the gradient of the sum of all costs: take
// gradients in all towers or in none.
Tensor cross_tower_sum(const Operand& x, CrossTowerGroup group, std::string_view name = "");

}  // namespace belfry
