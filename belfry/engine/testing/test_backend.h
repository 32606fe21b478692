// The kind of device "test": a backend that shows what the boundary (engine/backend.h) leaves to one. Its memory is not
// the host's, its parts run on a thread of its own and are done some time after they were launched, nothing is fused,
// and it has no layouts, arenas or kernels: every node is run by the evaluator. Slow, and linked with tests only.
#pragma once

#include <set>
#include <string>

namespace belfry {

// The ops that devices of this kind have run so far in this process.
std::set<std::string> ops_run_on_test_devices();

}  // namespace belfry
