// How much memory plans hold, and for what; in bytes.
#pragma once

#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace belfry {

struct PartPlan;
struct Partition;
class VariableStore;
struct Node;

struct MemoryUse {
  std::vector<std::size_t> arenas{};      // by device
  std::size_t crossings = 0;              // values on their way between devices
  std::size_t kernels = 0;                // what these hold themselves: branches, loops, copies of feeds
  std::size_t constants = 0;              // the graph's and those that the compiler made
  std::size_t variables = 0, copies = 0;  // copies: in a second layout
  std::size_t arena() const;              // all that a step computes in: the first three
  std::size_t total() const;
};

// Of a plan that is linked from these parts.
MemoryUse memory_of(const std::vector<std::shared_ptr<const PartPlan>>& parts, const Partition& partition,
                    const VariableStore& store);

// What parts hold themselves: constants, each counted once, and kernels.
void add_held_by(const std::set<const PartPlan*>& parts, MemoryUse& use);

std::string to_string(const MemoryUse& use);  // "memory 3.50 MB: arena 3.10 MB (cpu:0 3.10 MB), ..."

}  // namespace belfry
