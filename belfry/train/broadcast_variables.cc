#include "belfry/train/broadcast_variables.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>

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
  std::map<std::string, Variable> originals;  // by name
  if (!towers.empty())
    for (const Variable& original : towers[0].variables()) originals.emplace(original.name(), original);
  std::vector<Operation> copies;
  for (std::size_t t = 1; t < towers.size(); ++t) {
    const DeviceScope device(devices[t]);
    for (const Variable& copy : towers[t].variables())
      if (const auto at = originals.find(towers[t].local_name(copy)); at != originals.end() && copy != at->second)
        copies.emplace_back(copy.assign(at->second));
    if (slots.empty()) continue;
    std::multimap<std::string_view, Variable> left;  // of the first tower's slots, by the names' common part
    for (const Variable& slot : slots[0]) left.emplace(base_name(slot.name()), slot);
    for (const Variable& copy : slots[t]) {
      const auto [first, last] = left.equal_range(base_name(name_in_tower(copy)));
      const auto at = std::find_if(first, last, [&](const auto& item) { return is_copy(copy, item.second); });
      if (at == last) continue;
      copies.emplace_back(copy.assign(at->second));
      left.erase(at);
    }
  }
  return group(copies, "broadcast_variables");
}

}  // namespace belfry
