// N towers' gradients -> one average each. The builder behind the synchronous trainers, and what a trainer of one's own
// with several towers is made of, whatever number of costs it has:
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
  // Each tower has variables of its own, and only those of the first have no prefix. Whoever asks for that applies the
  // averages to every tower's, and makes them equal at the start. Default: the towers share the variables, which are
  // spread over the devices.
  bool own_variables = false;
};

std::string tower_name(std::size_t index);  // "tower0"
// The prefix of a tower's variables: none for the first.
std::string tower_variable_scope(const TowerSettings& settings, std::size_t index);

// Calls `build` once a device, in order, each time in the TrainTowerContext of that tower and on its device. What is to
// be known of a tower outside, `build` keeps.
void build_towers(const TowerSettings& settings, const std::function<void(const TowerContext&)>& build);

// What the optimizer computed in each tower -> the averages, with the variables of the first tower and in its order.
// Variables of one name, but for their tower's prefix, belong together. Summed in the order of the towers, so that the
// bits are the same every time; where there is no gradient, none. Throws, and names the variables, if towers differ in
// their variables, or some have a gradient and others not. The average for a shared variable is made where the variable
// lives, others are spread over the devices.
GradientsAndVariables average_gradients(const std::vector<GradientsAndVariables>& towers, const Devices& devices);

// Where towers have variables of their own, tower t on devices[t]: what each of them applies
// (Optimizer::apply_processed()) to its copies. The averages are processed once, so that the copies stay equal to the
// last bit. One that the optimizer leaves as it is may be made anew in every tower, where that is less work than to
// wait for another device.
std::vector<GradientsAndVariables> averages_by_tower(const std::vector<GradientsAndVariables>& towers,
                                                     const Devices& devices, Optimizer& optimizer,
                                                     const Location& where = Location::current());

}  // namespace belfry
#pragma GCC visibility pop
