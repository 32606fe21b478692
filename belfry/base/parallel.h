// The one place where our own loops become parallel: on the OpenMP team that oneDNN uses too (one runtime, one team per
// host thread). A device's thread enters TeamScope once; everything below it then uses that many threads.
//
//   parallel_for(rows, 64, [&](std::int64_t begin, std::int64_t end) { ... });
//
// The split is a function of (n, grain, team size) alone. Bodies must not throw and must not nest.
#pragma once

#include <cstdint>

#include "belfry/base/function_ref.h"
#include "belfry/base/signal_mask.h"

#pragma GCC visibility push(default)
namespace belfry {

int hardware_threads();  // cores this process may use
int team_size();         // threads that parallel_for uses when called from this thread

// Sets the team size of the calling thread (for oneDNN as well) until the end of the scope. The thread takes no signals
// meanwhile.
class TeamScope {
 public:
  explicit TeamScope(int threads);
  ~TeamScope();
  TeamScope(const TeamScope&) = delete;
  TeamScope& operator=(const TeamScope&) = delete;

 private:
  SignalsBlocked blocked_;
  int before_;
};

// To be called before oneDNN uses the calling thread's team: blocks signals in its OpenMP threads, which the program
// may have started before.
void silence_team();

// Runs body(part, parts) once for each part on the team; parts is at most team_size().
void parallel_parts(int parts, FunctionRef<void(int, int)> body);

// Splits [0, n) into at most team_size() contiguous ranges of at least `grain` each (inline when one suffices).
void parallel_for(std::int64_t n, std::int64_t grain, FunctionRef<void(std::int64_t, std::int64_t)> body);

}  // namespace belfry
#pragma GCC visibility pop
