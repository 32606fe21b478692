#include "belfry/base/parallel.h"

#include <sched.h>

#include <algorithm>

// libgomp is called directly instead of through pragmas: it works with g++ and clang alike, keeps one runtime in
// the process, and lets the fork and the join be told to the thread sanitizer, which cannot see inside libgomp.
extern "C" {
void GOMP_parallel(void (*function)(void*), void* data, unsigned threads, unsigned flags);
int omp_get_thread_num();
int omp_get_num_threads();
int omp_get_max_threads();
void omp_set_num_threads(int);
}

#if defined(__SANITIZE_THREAD__)
#define BELFRY_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define BELFRY_TSAN 1
#endif
#endif
#ifdef BELFRY_TSAN
extern "C" {
void __tsan_acquire(void*);
void __tsan_release(void*);
}
#endif

namespace belfry {
namespace {

struct Fork {
  FunctionRef<void(int, int)> body;
  int parts;
  char begin = 0, end = 0;  // addresses for the sanitizer to hang its happens-before edges on
};

void acquire([[maybe_unused]] char& at) {
#ifdef BELFRY_TSAN
  __tsan_acquire(&at);
#endif
}

void release([[maybe_unused]] char& at) {
#ifdef BELFRY_TSAN
  __tsan_release(&at);
#endif
}

#ifdef BELFRY_TSAN
__attribute__((no_sanitize("thread")))
#endif
void run_part(void* data) {
  Fork& fork = *static_cast<Fork*>(data);
  acquire(fork.begin);
  if (omp_get_thread_num() > 0) take_no_signals();  // the leader's own mask is up to its caller
  // Threads beyond the number of parts have nothing to do; if there are fewer than asked for (the user may set a
  // limit), they share the parts.
  for (int part = omp_get_thread_num(); part < fork.parts; part += omp_get_num_threads()) fork.body(part, fork.parts);
  release(fork.end);
}

}  // namespace

int hardware_threads() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

int team_size() { return omp_get_max_threads(); }

TeamScope::TeamScope(int threads) : before_(omp_get_max_threads()) { omp_set_num_threads(std::max(1, threads)); }
TeamScope::~TeamScope() { omp_set_num_threads(before_); }

void silence_team() {
  thread_local int silent = 1;  // threads of this one's team
  if (team_size() <= silent) return;
  silent = team_size();
  parallel_parts(silent, [](int, int) {});
}

void parallel_parts(int parts, FunctionRef<void(int, int)> body) {
  parts = std::min(parts, team_size());
  if (parts <= 1) return body(0, 1);
  const SignalsBlocked blocked;  // threads of OpenMP's begin with their leader's mask
  Fork fork{body, parts};
  release(fork.begin);
  // Always the whole team: libgomp ends the threads that a region does not use, and starts new ones when the next needs
  // them.
  GOMP_parallel(run_part, &fork, static_cast<unsigned>(team_size()), 0);
  acquire(fork.end);
}

void parallel_for(std::int64_t n, std::int64_t grain, FunctionRef<void(std::int64_t, std::int64_t)> body) {
  if (n <= 0) return;
  const std::int64_t most = std::max<std::int64_t>(1, n / std::max<std::int64_t>(1, grain));
  const int parts = static_cast<int>(std::min<std::int64_t>(most, team_size()));
  if (parts <= 1) return body(0, n);
  parallel_parts(parts, [&](int part, int count) {
    const std::int64_t begin = n * part / count, end = n * (part + 1) / count;
    if (begin < end) body(begin, end);
  });
}

}  // namespace belfry
