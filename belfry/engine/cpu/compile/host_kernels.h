// Kernels that pass between a plan and the program around it: feeds, fetches, users' ops.
#pragma once

#include <vector>

#include "belfry/engine/cpu/kernel/kernel.h"
#include "belfry/graph/op_def.h"

namespace belfry {

// Where the caller's memory of a feed lies in this run.
struct FedValue {
  const void* data = nullptr;
};
struct FedInput {
  int index = 0;  // among the kernel's inputs
  const FedValue* value = nullptr;
};

// The caller's memory, whose address is in a slot that changes from run to run. feed_kernel() leaves aligned feeds in
// place and copies others; `value` says where they lie, and every reader is a fed_kernel(). copied_feed_kernel() copies
// them into the plan's memory. If a slot to copy from or to is empty, nothing is copied.
KernelPtr feed_kernel(const void* const* slot, std::size_t bytes, FedValue& value);
KernelPtr fed_kernel(KernelPtr kernel, std::vector<FedInput> fed);
KernelPtr copied_feed_kernel(const void* const* slot, std::size_t bytes);
KernelPtr fetch_kernel(void* const* slot, std::size_t bytes);
// A user's op: arrays over the plan's memory, made once. Its exceptions are passed on with the op and its line.
KernelPtr host_kernel(const HostKernel& function, const KernelContext& context);

}  // namespace belfry
