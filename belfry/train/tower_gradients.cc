#include "belfry/train/tower_gradients.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <string_view>

#include "belfry/base/check.h"
#include "belfry/graph/graph.h"
#include "belfry/graph/node.h"
#include "belfry/graph/scope.h"
#include "belfry/nn/name_pattern.h"
#include "belfry/ops/pointwise.h"
#include "belfry/tower/tower_context.h"

namespace belfry {
namespace {

std::int64_t bytes_of(const Shape& shape, DType dtype) {
  return shape.elements() * static_cast<std::int64_t>(size_of(dtype));
}
std::int64_t bytes_of(const Variable& variable) { return bytes_of(variable.shape(), variable.dtype()); }

// What the copies of a variable have in common.
std::string common_name(const Variable& variable) { return std::string(name_in_tower(variable)); }

std::string list(const std::set<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += fmt::format("{}'{}'", out.empty() ? "" : ", ", name);
  return out.empty() ? "none" : out;
}

// Throws unless the towers' lists have the same variables.
void check_alike(const std::vector<GradientsAndVariables>& towers) {
  const auto names_of = [](const GradientsAndVariables& items) {
    std::set<std::string> out;
    for (const GradientAndVariable& item : items) out.insert(common_name(item.variable));
    return out;
  };
  const std::set<std::string> first = names_of(towers[0]);
  for (std::size_t t = 1; t < towers.size(); ++t) {
    const std::set<std::string> other = names_of(towers[t]);
    std::set<std::string> only_first, only_other;
    std::ranges::set_difference(first, other, std::inserter(only_first, only_first.end()));
    std::ranges::set_difference(other, first, std::inserter(only_other, only_other.end()));
    BELFRY_CHECK(only_first.empty() && only_other.empty(),
                 "[average_gradients] expected gradients for the same variables in every tower, got {} only in the "
                 "first tower and {} only in tower {}. A tower function must do the same in each tower.",
                 list(only_first), list(only_other), t);
  }
}

// Throws unless each variable has a gradient in all towers or in none. The lists are in the same order.
void check_gradients(const std::vector<GradientsAndVariables>& towers) {
  std::set<std::string> differ;
  for (std::size_t v = 0; v < towers[0].size(); ++v) {
    const auto has = [&](const GradientsAndVariables& tower) { return static_cast<bool>(tower[v].gradient); };
    if (std::ranges::all_of(towers, has) || std::ranges::none_of(towers, has)) continue;
    differ.insert(common_name(towers[0][v].variable));
  }
  BELFRY_CHECK(differ.empty(),
               "[average_gradients] expected gradients for the same variables in every tower, got some with and some "
               "without for {}. A tower function must do the same in each tower.",
               list(differ));
}

// The entries of `tower`, in the order in which the first tower has them.
GradientsAndVariables in_order_of(const GradientsAndVariables& first, const GradientsAndVariables& tower) {
  std::map<std::string_view, const GradientAndVariable*> by_name;
  for (const GradientAndVariable& item : tower) by_name.emplace(name_in_tower(item.variable), &item);
  GradientsAndVariables out;
  for (const GradientAndVariable& item : first) out.push_back(*by_name.at(name_in_tower(item.variable)));
  return out;
}

// Every tower's list in the order of the first, checked.
std::vector<GradientsAndVariables> aligned(const std::vector<GradientsAndVariables>& given) {
  BELFRY_CHECK(!given.empty(), "[average_gradients] expected the gradients of at least one tower, got none.");
  check_alike(given);
  std::vector<GradientsAndVariables> out = given;
  for (GradientsAndVariables& tower : out) tower = in_order_of(given[0], tower);
  check_gradients(out);
  return out;
}

bool shared(const std::vector<GradientsAndVariables>& towers, std::size_t v) {
  return towers[0][v].variable == towers.back()[v].variable;
}

// The device that the variable and its update are on.
const Device& home_of(const Variable& variable) { return variable.node()->device; }

// The average of a gradient, on the current device.
Tensor mean(const std::vector<GradientsAndVariables>& towers, std::size_t v) {
  if (towers.size() == 1) return towers[0][v].gradient;
  Tensor sum = towers[0][v].gradient;
  for (std::size_t t = 1; t < towers.size(); ++t) sum = sum + towers[t][v].gradient;
  return sum * (1.0 / static_cast<double>(towers.size()));
}

// An average of N gradients that every tower computes for itself takes N reads in each, all at the same time, and goes
// straight into the update. Computed on one device, it takes N reads and a write there and a read in each tower: spread
// evenly over the devices that is less with more than two of them, but not for a variable so large that the others have
// nothing to do in that time. By variable.
std::vector<bool> better_in_every_tower(const std::vector<GradientsAndVariables>& towers) {
  std::int64_t total = 0;
  for (const GradientAndVariable& item : towers[0]) total += bytes_of(item.variable);
  const auto count = static_cast<std::int64_t>(towers.size());
  std::vector<bool> out;
  for (const GradientAndVariable& item : towers[0])
    out.push_back(count == 2 || bytes_of(item.variable) * count > total);
  return out;
}

std::vector<std::size_t> in_turn(const std::vector<GradientsAndVariables>& towers) {
  std::vector<std::size_t> out(towers[0].size());
  std::iota(out.begin(), out.end(), std::size_t{0});
  return out;
}

// The averages, spread over the devices in this order, except for those of shared variables.
GradientsAndVariables averages_of(const std::vector<GradientsAndVariables>& towers, const Devices& devices,
                                  const std::vector<std::size_t>& order) {
  const NameScope names("average_gradients");
  LeastLoaded work(devices);
  GradientsAndVariables out = towers[0];
  if (towers.size() == 1) return out;
  for (const std::size_t v : order) {
    if (!out[v].gradient) continue;
    const DeviceScope device(shared(towers, v) ? home_of(out[v].variable) : work.place(bytes_of(out[v].variable)));
    out[v].gradient = mean(towers, v);
  }
  return out;
}

// Where each variable, by its node, stands in the list.
std::map<const Node*, std::size_t> places_in(const GradientsAndVariables& list) {
  std::map<const Node*, std::size_t> out;
  for (std::size_t v = 0; v < list.size(); ++v) out.emplace(list[v].variable.node(), v);
  return out;
}

std::size_t place_of(const Variable& variable, const std::map<const Node*, std::size_t>& places) {
  const auto at = places.find(variable.node());
  BELFRY_CHECK(at != places.end(),
               "[averages_by_tower] expected gradients of variables that every tower has, got one of '{}', of which "
               "the towers have no copy. A gradient processor must not add variables.",
               variable.name());
  return at->second;
}

}  // namespace

std::string tower_name(std::size_t index) { return fmt::format("tower{}", index); }

std::string tower_variable_scope(const TowerSettings& settings, std::size_t index) {
  return settings.own_variables && index > 0 ? tower_name(index) : "";
}

void build_towers(const TowerSettings& settings, const std::function<void(const TowerContext&)>& build) {
  LeastLoaded homes(settings.devices);
  for (std::size_t i = 0; i < settings.devices.size(); ++i) {
    const DeviceScope device(settings.devices[i]);
    const TrainTowerContext tower(tower_name(i), {.index = static_cast<int>(i),
                                                  .total = static_cast<int>(settings.devices.size()),
                                                  .variable_scope = tower_variable_scope(settings, i)});
    // An update runs where its variable lives: shared ones are spread over the devices.
    const auto spread = VariableScope::reopen(
        {.custom_getter = [&](const VariableGetter& next, const std::string& name, const VariableOptions& options) {
          if (settings.own_variables || i > 0) return next(name, options);
          const DeviceScope home(homes.place(bytes_of(options.shape, options.dtype)));
          return next(name, options);
        }});
    build(tower);
  }
}

GradientsAndVariables average_gradients(const std::vector<GradientsAndVariables>& given, const Devices& devices) {
  BELFRY_CHECK(!devices.empty(), "[average_gradients] expected at least one device, got none.");
  const std::vector<GradientsAndVariables> towers = aligned(given);
  return averages_of(towers, devices, in_turn(towers));
}

std::vector<GradientsAndVariables> averages_by_tower(const std::vector<GradientsAndVariables>& given,
                                                     const Devices& devices, Optimizer& optimizer,
                                                     const Location& where) {
  BELFRY_CHECK(given.size() == devices.size(),
               "[averages_by_tower] expected a device for each tower, got {} towers and {} devices. Pass the devices "
               "that the towers were built on, in the same order.",
               given.size(), devices.size());
  const std::vector<GradientsAndVariables> towers = aligned(given);
  // Whether the optimizer changes an average is known only afterwards. Those that every tower might then compute are
  // placed last, so that they do not affect the placement of those that are computed once in any case.
  std::vector<std::size_t> order = in_turn(towers);
  const std::vector<bool> in_every_tower = better_in_every_tower(towers);
  std::ranges::sort(order, {}, [&](std::size_t v) { return std::pair<bool, std::size_t>(in_every_tower[v], v); });
  const GradientsAndVariables averages = averages_of(towers, devices, order);
  const GradientsAndVariables processed = optimizer.process(averages, where);
  const std::map<const Node*, std::size_t> places = places_in(averages);
  const NameScope names("average_gradients");
  std::vector<GradientsAndVariables> out(towers.size(), processed);
  for (std::size_t t = 0; t < towers.size(); ++t) {
    const DeviceScope device(devices[t]);
    for (GradientAndVariable& item : out[t]) {
      const std::size_t v = place_of(item.variable, places);
      item.variable = towers[t][v].variable;
      if (item.gradient && item.gradient == averages[v].gradient && in_every_tower[v]) item.gradient = mean(towers, v);
    }
  }
  return out;
}

}  // namespace belfry
