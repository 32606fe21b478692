// How long OpenMP's threads spin before they sleep, while they wait for each other.
//
// libgomp's threads spin for milliseconds by default. With cores of one's own that is right: the next parallel loop
// starts within a microsecond. On a busy machine it is ruinous: the thread that spins takes the core from the one that
// it waits for. The settings (OMP_WAIT_POLICY, GOMP_SPINCOUNT) are read when libgomp is loaded, before any code of ours
// runs. But libgomp spins for a few microseconds only while there are more OpenMP threads than cores, so a
// SpinControl keeps idle extra threads for as long as the thread that observes it has to wait for its core.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#pragma GCC visibility push(default)
namespace belfry {

// What the system knows of a thread, in nanoseconds since it began.
struct CoreTimes {
  std::int64_t ran = 0;     // on a core
  std::int64_t waited = 0;  // ready to run, but without a core
};

// When spins should be short, from times alone (nanoseconds; tests bring their own).
class SpinDecision {
 public:
  // Whether it is time to look again.
  bool due(std::int64_t now) const { return now >= next_look_; }
  bool short_spins(std::int64_t now, const CoreTimes& times);

 private:
  void judge(std::int64_t now, double share);

  bool short_ = false;
  std::optional<CoreTimes> before_;  // when the period began that is judged next
  std::int64_t next_look_ = 0;
  std::int64_t hold_ = 0;                 // how long spins stay short at least
  std::optional<std::int64_t> released_;  // when they were last made long again
};

class SpinControl {
 public:
  // For teams of `threads`. Does nothing where the user has decided (one of the two variables is set), with a single
  // thread, or where the system does not tell how long a thread waits for a core.
  explicit SpinControl(int threads);
  ~SpinControl();
  SpinControl(const SpinControl&) = delete;
  SpinControl& operator=(const SpinControl&) = delete;

  // After some work of the team, by the thread that led it. Looks at the clock, and a hundred times a second at most at
  // what the system knows of the thread. Allocates only when it changes its mind.
  void observe();

  bool active() const { return impl_ != nullptr; }
  bool short_spins() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace belfry
#pragma GCC visibility pop
