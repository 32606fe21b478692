// A kernel that wants one of its buffers in a layout that the plan cannot give it: the buffer is kept in scratch, and a
// reorder runs before the kernel (an input) or after it (an output). Internal to engine/cpu.
#pragma once

#include <oneapi/dnnl/dnnl_types.h>

#include "belfry/engine/cpu/kernel/kernel.h"

namespace belfry {

// One of `input` and `output` is set.
struct Stage {
  int input = -1, output = -1;
  dnnl_memory_desc_t outside{}, inside{};  // the plan's, the kernel's
};

KernelPtr staged_kernel(KernelPtr kernel, const Stage& stage);

}  // namespace belfry
