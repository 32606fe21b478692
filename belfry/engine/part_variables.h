// Which variables a part reads and writes, and where. Internal to engine.
#pragma once

#include "belfry/base/function_ref.h"
#include "belfry/engine/backend.h"

namespace belfry {

// Fills in a part's `read`, `written`, `assigned`, `last_read` and `first_write`. `order` is the order in which it
// runs, `variable_in` the variable whose memory a value lies in (or null), and `position` a node's (kNone if nothing
// runs).
void note_variables(CompiledPart& part, const Ir& ir, const std::vector<NodeId>& order,
                    FunctionRef<const Node*(ValueId)> variable_in, FunctionRef<int(NodeId)> position);

}  // namespace belfry
