#include "belfry/train/tower_gradients.h"

#include <algorithm>

#include "belfry/base/check.h"
#include "belfry/graph/graph.h"
#include "belfry/graph/scope.h"
#include "belfry/ops/pointwise.h"
#include "belfry/tower/tower_context.h"

namespace belfry {
namespace {

std::int64_t bytes_of(const Shape& shape, DType dtype) {
  return shape.elements() * static_cast<std::int64_t>(size_of(dtype));
}

// Throws unless each variable has a gradient in all towers or in none.
void check_alike(const std::vector<GradientsAndVariables>& towers) {
  std::string differ;
  for (std::size_t v = 0; v < towers[0].size(); ++v) {
    const auto has = [&](const GradientsAndVariables& tower) { return static_cast<bool>(tower[v].gradient); };
    if (std::ranges::all_of(towers, has) || std::ranges::none_of(towers, has)) continue;
    differ += fmt::format("{}'{}'", differ.empty() ? "" : ", ", towers[0][v].variable.name());
  }
  BELFRY_CHECK(differ.empty(),
               "[towers] expected gradients for the same variables in every tower, got some with and some without for "
               "{}. A tower function must do the same in each tower.",
               differ);
}

}  // namespace

std::string device_name(int device) { return fmt::format("cpu:{}", device); }

std::string tower_name(std::size_t index) { return fmt::format("tower{}", index); }

std::string tower_variable_scope(const TowerSettings& settings, std::size_t index) {
  return settings.own_variables && index > 0 ? tower_name(index) : "";
}

std::string LeastLoaded::place(std::int64_t bytes) {
  const auto least = static_cast<std::size_t>(std::ranges::min_element(bytes_) - bytes_.begin());
  bytes_[least] += bytes;
  return device_name(devices_[least]);
}

std::vector<GradientsAndVariables> build_towers(const TowerSettings& settings, Optimizer& optimizer,
                                                const std::function<Tensor()>& build) {
  std::vector<GradientsAndVariables> out;
  LeastLoaded homes(settings.devices);
  for (std::size_t i = 0; i < settings.devices.size(); ++i) {
    const DeviceScope device(device_name(settings.devices[i]));
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
    const Tensor cost = build();
    out.push_back(optimizer.compute_gradients(cost, tower.trainable_variables()));
  }
  return out;
}

Tensors average_gradients(const std::vector<GradientsAndVariables>& towers, const std::vector<int>& devices) {
  check_alike(towers);
  const NameScope names("average_gradients");
  LeastLoaded work(devices);
  Tensors out;
  for (std::size_t v = 0; v < towers[0].size(); ++v) {
    const Variable& variable = towers[0][v].variable;
    if (!towers[0][v].gradient) {
      out.emplace_back();
      continue;
    }
    const std::string home = work.place(bytes_of(variable.shape(), variable.dtype()));
    const DeviceScope device(home);
    Tensor sum = towers[0][v].gradient;
    for (std::size_t t = 1; t < towers.size(); ++t) sum = sum + towers[t][v].gradient;
    out.push_back(towers.size() == 1 ? sum : sum * (1.0 / static_cast<double>(towers.size())));
  }
  return out;
}

}  // namespace belfry
