// What the ops of batch normalisation share: from a tensor with channels along one axis (attribute "axis") to vectors
// of one number per channel, and back. Internal to belfry/ops.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "belfry/graph/op_def.h"

namespace belfry {

class Channels {
 public:
  Channels(const Tensor& x, const Attributes& attributes)
      : x_(x), axis_(static_cast<int>(attributes.integer("axis"))) {}

  // A vector in a shape that broadcasts against x.
  Tensor spread(const Tensor& vector) const;
  // The sum over everything but the channels.
  Tensor sum(const Tensor& t) const;
  // How many elements a channel has; at least 1, so that it can be a divisor.
  Tensor count() const;

 private:
  Tensor x_;
  int axis_;
};

// For shape rules: x is input `at`, the inputs `vectors` have one number per channel. Gives the number of channels.
std::int64_t check_channels(const ShapeContext& c, int at, std::initializer_list<int> vectors);

}  // namespace belfry
