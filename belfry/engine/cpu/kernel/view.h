// Kernels of ops that return the same elements in the same order. Internal to engine.
#pragma once

#include "belfry/engine/cpu/kernel/kernel.h"

namespace belfry {

// A view, which the compiler eliminates; where it cannot, a copy.
KernelRegistration define_view_kernel(const char* op);

}  // namespace belfry
