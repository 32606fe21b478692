// Between a tensor and the shape of another: what the gradients of broadcasting and reductions are made of. The second
// operand lends only its shape, known when a step is fed, and is not kept alive for it.
#pragma once

#include <string_view>

#include "belfry/graph/tensor.h"

namespace belfry {

Tensor sum_to_like(const Operand& x, const Operand& like, std::string_view name = "");  // undoes broadcasting
Tensor broadcast_like(const Operand& x, const Operand& like, std::string_view name = "");
Tensor reshape_like(const Operand& x, const Operand& like, std::string_view name = "");  // same number of elements

}  // namespace belfry
