// The command line's options, and helpers for every measurement.
#pragma once

#include <algorithm>
#include <chrono>
#include <string>

#include "benchmarks/suite.h"

namespace belfry::bench {

struct Options {
  std::string suite;
  int threads = 1, steps = 0, repeats = 0, warmup = -1;
  bool json = false, numerics = false, explain = false, limit = false, recompute = false;
  std::string trace, precision = "f32";
  std::string trainer;  // empty: the plain step
  int devices = 1;
  bool rounds = false;
  int soak = 0;       // seconds
  int layers = 3200;  // of the deepest network of --compile

  int repeats_or(int usual) const { return repeats > 0 ? repeats : usual; }
  int steps_of(const Suite& s) const { return steps > 0 ? steps : s.steps; }
  // Steps of a round that is timed on command: enough that its borders hardly count. They cost most where a tower's
  // last step is not counted.
  int round_of(const Suite& s) const { return steps > 0 ? steps : std::max(s.steps, 4) * (trainer == "async" ? 3 : 1); }
  int warmup_of(const Suite& s) const { return warmup >= 0 ? warmup : s.warmup; }
  Precision session_precision() const {
    if (precision == "f32") return Precision::f32;
    return precision == "bf16" ? Precision::bf16 : Precision::bf16_emulated;
  }
};

inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace belfry::bench
