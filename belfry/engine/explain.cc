#include <algorithm>

#include "belfry/base/check.h"
#include "belfry/engine/plan.h"

namespace belfry {

std::string Plan::explain() const {
  Explanation e;
  for (const DeviceInfo& device : devices_) e.devices.push_back(device.name.name());
  for (const auto& part : parts_) part->explain(e);
  const MemoryUse use = memory();
  std::vector<const Backend*> explained;
  for (const Backend* backend : backends_) {
    if (std::ranges::find(explained, backend) != explained.end()) continue;
    explained.push_back(backend);
    std::vector<const CompiledPart*> parts;
    for (const auto& part : parts_)
      if (backends_[static_cast<std::size_t>(part->device)] == backend) parts.push_back(part.get());
    if (!parts.empty()) e.text += backend->explain(parts, use);
  }
  const std::string text =
      e.text + to_string(use, e.devices) +
      fmt::format(
          "{} instructions, {} fused groups, {} reorders, arena {:.2f} MB, {:.3f} GFLOP, {:.2f} MB read and "
          "written\n",
          e.instructions, e.fused, e.reorders, static_cast<double>(use.arena()) / 1e6, e.flops / 1e9, e.bytes / 1e6);
  return rest_ == nullptr ? text : text + rest_->explain();
}

}  // namespace belfry
