// How much memory plans hold, and for what; in bytes.
#pragma once

#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace belfry {

class CompiledPart;
class Variables;
struct Partition;

// What a compiled part needs while it runs and holds between runs.
struct PartMemory {
  std::size_t arena = 0;                                         // of its device, which all parts there share
  std::size_t kernels = 0;                                       // held by the part itself
  std::vector<std::pair<const void*, std::size_t>> constants{};  // where they lie; parts may share them
};

struct MemoryUse {
  std::vector<std::size_t> arenas{};      // by device
  std::size_t crossings = 0;              // values on their way between devices
  std::size_t kernels = 0;                // held by kernels themselves: branches, loops, copies of feeds
  std::size_t constants = 0;              // the graph's and those that the compiler made
  std::size_t variables = 0, copies = 0;  // copies: in a second layout
  std::size_t arena() const;              // everything a step computes in: the first three
  std::size_t total() const;
};

// For a plan that is linked from these parts.
MemoryUse memory_of(const std::vector<std::shared_ptr<const CompiledPart>>& parts, const Partition& partition,
                    const Variables& variables);

// What parts hold themselves: constants, each counted once, and kernels.
void add_held_by(const std::set<const CompiledPart*>& parts, MemoryUse& use);

std::string megabytes(double bytes);  // "3.50 MB"

// "memory 3.50 MB: arena 3.10 MB (cpu:0 3.10 MB), ..."; the names are those of the devices.
std::string to_string(const MemoryUse& use, const std::vector<std::string>& devices);

}  // namespace belfry
