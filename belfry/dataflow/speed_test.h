// How fast a flow is when nobody uses its points.
#pragma once

#include <cstdint>
#include <cstdio>

#include "belfry/dataflow/flow.h"

#pragma GCC visibility push(default)
namespace belfry {

struct SpeedTestOptions {
  std::int64_t points = 1000;  // to measure
  std::int64_t warmup = 0;     // points that are read before, while threads start and caches fill
  bool progress = true;        // a bar, if the stream is a terminal
  std::FILE* stream = stderr;
};

struct FlowSpeed {
  std::int64_t points = 0;
  double seconds = 0, points_per_second = 0;
  double megabytes_per_second = 0;  // of 10^6 bytes, of the points' elements
};

// Reads points from where the flow stands, and the next epochs if one ends. The flow is left where that ends.
FlowSpeed speed_test(Flow flow, SpeedTestOptions options = {});

}  // namespace belfry
#pragma GCC visibility pop
