#include "belfry/engine/memory_use.h"

#include <algorithm>
#include <numeric>

#include "belfry/base/check.h"
#include "belfry/engine/backend.h"
#include "belfry/engine/variables.h"

namespace belfry {

std::string megabytes(double bytes) { return fmt::format("{:.2f} MB", bytes / 1e6); }

std::size_t MemoryUse::arena() const { return std::accumulate(arenas.begin(), arenas.end(), crossings + kernels); }

std::size_t MemoryUse::total() const { return arena() + constants + variables + copies; }

MemoryUse memory_of(const std::vector<std::shared_ptr<const CompiledPart>>& parts, const Partition& partition,
                    const Variables& values) {
  MemoryUse out;
  std::set<const CompiledPart*> all;
  std::set<const Node*> variables;
  for (const auto& part : parts) {
    all.insert(part.get());
    const auto device = static_cast<std::size_t>(part->device);
    if (out.arenas.size() <= device) out.arenas.resize(device + 1);
    out.arenas[device] = std::max(out.arenas[device], part->memory().arena);
    for (const auto& [crossing, info] : part->sent) {
      const Crossing& c = partition.crossings[static_cast<std::size_t>(crossing)];
      if (c.kind == Crossing::Kind::value && c.leaves_device) out.crossings += info.bytes();
    }
    variables.insert(part->read.begin(), part->read.end());
    variables.insert(part->written.begin(), part->written.end());
  }
  for (const Node* variable : variables) {
    const VariableMemory::Bytes bytes = values.bytes_of(variable);
    out.variables += bytes.value;
    out.copies += bytes.copies;
  }
  add_held_by(all, out);
  return out;
}

void add_held_by(const std::set<const CompiledPart*>& parts, MemoryUse& use) {
  std::set<const void*> counted;  // parts share the graph's constants
  for (const CompiledPart* part : parts) {
    const PartMemory memory = part->memory();
    use.kernels += memory.kernels;
    for (const auto& [address, bytes] : memory.constants)
      if (counted.insert(address).second) use.constants += bytes;
  }
}

std::string to_string(const MemoryUse& use, const std::vector<std::string>& devices) {
  const auto of = [](std::size_t size) { return megabytes(static_cast<double>(size)); };
  std::string where;
  const auto add = [&](const std::string& what, std::size_t bytes) {
    where += fmt::format("{}{} {}", where.empty() ? "" : ", ", what, of(bytes));
  };
  for (std::size_t device = 0; device < use.arenas.size(); ++device) add(devices[device], use.arenas[device]);
  if (use.arenas.size() > 1) add("between devices", use.crossings);
  if (use.kernels > 0) add("kernels' own", use.kernels);
  return fmt::format("memory {}: arena {} ({}), constants {}, variables {}, their copies in a second layout {}\n",
                     of(use.total()), of(use.arena()), where, of(use.constants), of(use.variables), of(use.copies));
}

}  // namespace belfry
