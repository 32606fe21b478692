// The line of a gradient.
#pragma once

#include <optional>

#include "belfry/graph/location.h"

namespace belfry {

// Operations made while it lives are attributed to the line of the forward operation that they belong to, even inside
// the LocationScope of the trainer or optimizer that asked for the gradients.
class ForwardLocation {
 public:
  explicit ForwardLocation(const Location& forward);
  ~ForwardLocation();
  ForwardLocation(const ForwardLocation&) = delete;
  ForwardLocation& operator=(const ForwardLocation&) = delete;

 private:
  std::optional<Location> before_;
};

}  // namespace belfry
