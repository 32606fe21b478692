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

// Throws unless the towers' lists are of the same variables, and each has a gradient in all towers or in none.
void check_alike(const std::vector<GradientsAndVariables>& towers) {
  BELFRY_CHECK(!towers.empty(), "[average_gradients] expected the gradients of at least one tower, got none.");
  const auto list = [](const GradientsAndVariables& items) {
    std::string out;
    for (const GradientAndVariable& item : items)
      out += fmt::format("{}'{}'", out.empty() ? "" : ", ", item.variable.name());
    return out;
  };
  const auto shape = [](const GradientAndVariable& item) { return item.variable.shape(); };
  for (const GradientsAndVariables& tower : towers)
    BELFRY_CHECK(
        std::ranges::equal(tower, towers[0], {}, shape, shape),
        "[average_gradients] expected gradients for the same variables in every tower, got {} in the first and "
        "{} in another. A tower function must do the same in each tower.",
        list(towers[0]), list(tower));
  std::string differ;
  for (std::size_t v = 0; v < towers[0].size(); ++v) {
    const auto has = [&](const GradientsAndVariables& tower) { return static_cast<bool>(tower[v].gradient); };
    if (std::ranges::all_of(towers, has) || std::ranges::none_of(towers, has)) continue;
    differ += fmt::format("{}'{}'", differ.empty() ? "" : ", ", towers[0][v].variable.name());
  }
  BELFRY_CHECK(differ.empty(),
               "[average_gradients] expected gradients for the same variables in every tower, got some with and some "
               "without for {}. A tower function must do the same in each tower.",
               differ);
}

}  // namespace

std::string tower_name(std::size_t index) { return fmt::format("tower{}", index); }

std::string tower_variable_scope(const TowerSettings& settings, std::size_t index) {
  return settings.own_variables && index > 0 ? tower_name(index) : "";
}

void build_towers(const TowerSettings& settings, const std::function<void(const TowerContext&)>& build) {
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
    build(tower);
  }
}

GradientsAndVariables average_gradients(const std::vector<GradientsAndVariables>& towers, const Devices& devices) {
  check_alike(towers);
  const NameScope names("average_gradients");
  LeastLoaded work(devices);
  GradientsAndVariables out = towers[0];
  if (towers.size() == 1) return out;
  for (std::size_t v = 0; v < out.size(); ++v) {
    if (!out[v].gradient) continue;
    const DeviceScope device(work.place(bytes_of(out[v].variable.shape(), out[v].variable.dtype())));
    Tensor sum = out[v].gradient;
    for (std::size_t t = 1; t < towers.size(); ++t) sum = sum + towers[t][v].gradient;
    out[v].gradient = sum * (1.0 / static_cast<double>(towers.size()));
  }
  return out;
}

}  // namespace belfry
