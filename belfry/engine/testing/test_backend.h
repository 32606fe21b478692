// The kind of device "test": a backend that shows what engine/backend.h requires. Its memory is not the host's, its
// parts run on a separate thread and are done some time after they were launched, nothing is fused, and it has no
// layouts, arenas or kernels: the evaluator runs every node. Slow, and linked with tests only.
#pragma once

#include <set>
#include <string>

namespace belfry {

// The ops that devices of this kind have run so far in this process.
std::set<std::string> ops_run_on_test_devices();

}  // namespace belfry
