// A kernel that holds memory itself, between runs too: one that runs plans of its own.
#pragma once

#include <cstddef>

namespace belfry {

class OwnMemory {
 public:
  virtual ~OwnMemory() = default;
  virtual std::size_t own_bytes() const = 0;
};

}  // namespace belfry
