// The campaigns of ./dev torture, each in a file of its own. Each returns how often it tried and how often what must
// not happen did; what happened goes to standard error.
#pragma once

#include <cstdint>
#include <string>

namespace belfry::torture {

struct Outcome {
  std::int64_t tries = 0;
  std::int64_t bad = 0;
};

// kill -9 at random moments of a process that saves.
Outcome kills(std::int64_t count, std::uint64_t seed);

// Each file-system call of a save fails once, in several ways; all of them if `count` is so large, or others spread
// evenly.
Outcome faults(std::int64_t count);

// Every moment of some saves at which the power may fail: what the disk may hold then.
Outcome power_failures();
// The same, with the order of calls broken: how many of the ways to break it show.
Outcome broken_orders();

// Single bits of checkpoints flip.
Outcome flips(std::int64_t count, std::uint64_t seed);

// Says on standard error what must not have happened.
void report(const std::string& what);

}  // namespace belfry::torture
