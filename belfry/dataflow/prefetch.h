// Reading ahead on another thread.
#pragma once

#include "belfry/dataflow/flow.h"

#pragma GCC visibility push(default)
namespace belfry {

// A thread of its own reads the source up to `depth` points ahead of the consumer. It starts with the first next() of a
// pass and ends with the pass. state() is that after the last point *consumed*: queued points do not count. An error in
// the source arrives after the points before it, once, as an error of the same kind that names the source's stages and
// nests the original; the pass is then over, and restore(state()) tries the failed point again. Destruction, and
// start_epoch() and restore(), wait only for the point that is being made.
FlowStage prefetch(int depth);

}  // namespace belfry
#pragma GCC visibility pop
