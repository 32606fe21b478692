// A kernel that itself holds memory, also between runs: one that runs sub-plans.
#pragma once

#include <cstddef>

namespace belfry {

class OwnMemory {
 public:
  virtual ~OwnMemory() = default;
  virtual std::size_t own_bytes() const = 0;
};

}  // namespace belfry
