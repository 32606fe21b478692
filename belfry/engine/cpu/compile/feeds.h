// Where a part's feeds lie.
#pragma once

#include "belfry/engine/ir.h"

namespace belfry {

// Whether the value is one of the first `carried_feeds` (CompileTarget): its memory is in the arena and kept for it
// from run to run.
bool is_carried(const Ir& ir, ValueId value, int carried_feeds);
// Whether the value is fed and read where the caller has it.
bool lies_at_callers(const Ir& ir, ValueId value, int carried_feeds);

}  // namespace belfry
