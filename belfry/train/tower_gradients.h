// N towers' gradients -> one average each. The synchronous trainers are built with this, and so are trainers that you
// write with several towers, for any number of costs:
//
//   std::vector<GradientsAndVariables> d, g;  // by tower
//   build_towers({.devices = devices()}, [&](const TowerContext& tower) {
//     const Tensors costs = tower_func()(input->get_input_tensors());
//     d.push_back(optimizer->compute_gradients(costs[0], d_variables(tower)));
//     g.push_back(optimizer->compute_gradients(costs[1], g_variables(tower)));
//   });
//   d_min_ = optimizer->apply_gradients(average_gradients(d, devices()), "d_min");
//   g_min_ = optimizer->apply_gradients(average_gradients(g, devices()), "g_min");
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "belfry/nn/optimizer.h"
#include "belfry/train/devices.h"

#pragma GCC visibility push(default)
namespace belfry {

class TowerContext;

struct TowerSettings {
  Devices devices{};
  // Each tower has separate variables, and only those of the first have no prefix. The caller then has to apply the
  // averages to every tower's variables, and to make them equal at the start. Default: the towers share the variables,
  // which are spread over the devices.
  bool own_variables = false;
};

std::string tower_name(std::size_t index);  // "tower0"
// The prefix of a tower's variables: none for the first.
std::string tower_variable_scope(const TowerSettings& settings, std::size_t index);

// Calls `build` once per device, in order, each time in the TrainTowerContext of that tower and on its device. `build`
// has to keep what is needed from a tower later.
void build_towers(const TowerSettings& settings, const std::function<void(const TowerContext&)>& build);

// What the optimizer computed in each tower -> the averages, with the variables of the first tower and in its order.
// Variables whose names are the same without their tower's prefix belong together. Sums are in the order of the towers,
// so that the bits are the same every time; a variable without gradients gets none. Throws, and names the variables, if
// the towers' variables differ, or some towers have a gradient and others do not. The average for a shared variable is
// computed on the variable's device, others are spread over the devices.
GradientsAndVariables average_gradients(const std::vector<GradientsAndVariables>& towers, const Devices& devices);

// For towers with separate variables, tower t on devices[t]: what each of them applies (Optimizer::apply_processed())
// to its copies. The averages are processed once, so that the copies stay equal to the last bit. An average that the
// optimizer does not change may be computed in every tower, if that is less work than waiting for another device.
std::vector<GradientsAndVariables> averages_by_tower(const std::vector<GradientsAndVariables>& towers,
                                                     const Devices& devices, Optimizer& optimizer,
                                                     const Location& where = Location::current());

}  // namespace belfry
#pragma GCC visibility pop
