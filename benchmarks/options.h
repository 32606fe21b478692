// What the command line says, and small things that every measurement needs.
#pragma once

#include <chrono>
#include <string>

#include "benchmarks/suite.h"

namespace belfry::bench {

struct Options {
  std::string suite;
  int threads = 1, steps = 0, repeats = 3, warmup = -1;
  bool json = false, numerics = false, explain = false, limit = false, recompute = false;
  std::string trace, precision = "f32";

  int steps_of(const Suite& s) const { return steps > 0 ? steps : s.steps; }
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
