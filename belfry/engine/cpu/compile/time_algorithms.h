// Times a kernel's algorithms against each other. Internal to engine.
#pragma once

#include <span>
#include <string>

#include "belfry/engine/cpu/kernel/kernel.h"

namespace belfry {

// The fastest of `names`, timed in separate memory, on the calling thread's team, which must have context.threads; the
// first one, the fixed rule's, unless another is clearly faster. The context's layouts are plain: each
// algorithm is asked for its own. Operands that no algorithm reads (`unread`, by input) get no memory.
std::string fastest_algorithm(const KernelDef& kernel, const KernelContext& context, std::span<const std::string> names,
                              const std::vector<bool>& unread);

}  // namespace belfry
