// Sizes as a shape: for ops that take a "like", whose shape alone they use.
#pragma once

#include <string_view>

#include "belfry/ops/sizes.h"

namespace belfry {

// The sizes as a vector, in which one may be kAny: what is left over of x's elements.
Tensor complete_sizes(const Tensor& x, const Sizes& sizes, std::string_view op);

// A tensor that lends its shape and is never computed: what ops that take a "like" are given for sizes. kAny is no size
// here.
Tensor of_shape(const Sizes& sizes, std::string_view op);

}  // namespace belfry
