// Sizes as a shape: for ops that take a "like", of which they use only the shape.
#pragma once

#include <string_view>

#include "belfry/ops/sizes.h"

namespace belfry {

// The sizes as a vector. One of them may be kAny: it follows from the number of x's elements.
Tensor complete_sizes(const Tensor& x, const Sizes& sizes, std::string_view op);

// A tensor of these sizes that is never computed: a "like" for ops that take one. kAny is not allowed here.
Tensor of_shape(const Sizes& sizes, std::string_view op);

}  // namespace belfry
