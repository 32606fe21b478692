// Kernels that pass between a plan and the program around it: feeds, fetches, users' ops.
#pragma once

#include "belfry/engine/kernel.h"
#include "belfry/graph/op_def.h"

namespace belfry {

// Copies between a buffer and the caller's memory, whose address is in a slot that changes from run to run.
KernelPtr feed_kernel(const void* const* slot, std::size_t bytes);
KernelPtr fetch_kernel(void* const* slot, std::size_t bytes);
// A user's op: arrays over the plan's memory, made once. What it throws is passed on with the op and its line.
KernelPtr host_kernel(const HostKernel& function, const KernelContext& context);

}  // namespace belfry
