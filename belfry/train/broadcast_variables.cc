#include "belfry/train/broadcast_variables.h"

#include <algorithm>

#include "belfry/base/check.h"
#include "belfry/graph/scope.h"
#include "belfry/nn/name_pattern.h"
#include "belfry/ops/basic.h"

namespace belfry {
namespace {

// A name without the number that made it unique: "Adam/step" for "Adam/step_1".
std::string_view base_name(std::string_view name) {
  const std::size_t end = name.find_last_not_of("0123456789");
  const bool numbered = end != std::string_view::npos && name[end] == '_' && end + 1 < name.size();
  return numbered ? name.substr(0, end) : name;
}

// Whether `copy` is another tower's counterpart of `original` in the first. A slot of a variable is named after it; a
// slot of the whole update has the same name in all towers, made unique.
bool is_copy(const Variable& copy, const Variable& original) {
  if (copy.shape() != original.shape() || copy.dtype() != original.dtype()) return false;
  const std::string_view local = name_in_tower(copy);
  return local == copy.name() ? base_name(local) == base_name(original.name()) : local == original.name();
}

}  // namespace

Operation broadcast_variables(const std::vector<TowerTensorHandle>& towers, const Devices& devices,
                              const std::vector<std::vector<Variable>>& slots) {
  BELFRY_CHECK(devices.size() == towers.size() && (slots.empty() || slots.size() == towers.size()),
               "[broadcast_variables] expected a device and, if any, slots for each of {} towers, got {} devices and "
               "slots of {}. Pass the towers that were built together, and what each of their updates made.",
               towers.size(), devices.size(), slots.size());
  std::vector<Operation> copies;
  for (std::size_t t = 1; t < towers.size(); ++t) {
    const DeviceScope device(devices[t]);
    for (const Variable& copy : towers[t].variables())
      for (const Variable& original : towers[0].variables())
        if (original.name() == towers[t].local_name(copy) && !(copy == original))
          copies.emplace_back(copy.assign(original));
    if (slots.empty()) continue;
    std::vector<Variable> originals = slots[0];
    for (const Variable& copy : slots[t]) {
      const auto at = std::ranges::find_if(originals, [&](const Variable& v) { return is_copy(copy, v); });
      if (at == originals.end()) continue;
      copies.emplace_back(copy.assign(*at));
      originals.erase(at);
    }
  }
  return group(copies, "broadcast_variables");
}

}  // namespace belfry
