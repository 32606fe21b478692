// Products of many pairs of matrices, whose batches broadcast. Internal to engine.
#pragma once

#include "belfry/engine/cpu/kernel/kernel.h"

namespace belfry {

// For "MatMul"s whose operands are both batches; any float type, also with empty dimensions.
KernelPtr make_batched_matmul(const KernelContext& c);

}  // namespace belfry
