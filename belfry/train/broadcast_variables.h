// Towers with separate variables start with equal values: the first tower's.
#pragma once

#include <vector>

#include "belfry/tower/tower_handle.h"
#include "belfry/train/devices.h"

#pragma GCC visibility push(default)
namespace belfry {

// Copies the variables of the first tower to the others, of which tower t is on devices[t]. `slots`, by tower, are what
// an optimizer made for its updates; those with a counterpart among the first tower's are copied too. Shared variables
// are not touched.
Operation broadcast_variables(const std::vector<TowerTensorHandle>& towers, const Devices& devices,
                              const std::vector<std::vector<Variable>>& slots = {});

}  // namespace belfry
#pragma GCC visibility pop
