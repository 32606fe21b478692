// The second layout of blocked convolution weights that an optimizer's pass can also write. Internal to engine.
#pragma once

#include "belfry/engine/cpu/kernel/kernel.h"
#include "belfry/engine/cpu/optimizer/optimizer_team.h"

namespace belfry {

// Describes `copy` relative to the variable's own layout; false if it is not tiles of the same size, in another order
// or transposed.
bool describe_copy(const TensorInfo& variable, const Layout& copy, SecondCopy& out);

}  // namespace belfry
