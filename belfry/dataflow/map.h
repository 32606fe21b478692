// Changing points one by one, on one thread or on many.
//
//   folder("train") | shuffle() | map(decode_and_augment, {.threads = 8}) | batch(128)
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "belfry/dataflow/flow.h"
#include "belfry/dataflow/point_function.h"

#pragma GCC visibility push(default)
namespace belfry {

struct MapOptions {
  // Of the random numbers, if the function takes any. Even with equal seeds, random stages of one chain draw different
  // numbers, and so do the parts of shard() and fan_out().
  std::uint64_t seed = 0;
  // 0: the function runs in next(). Otherwise this many threads read ahead and call it concurrently.
  int threads = 0;
  // With threads: whether points leave in the order of the source, or each as soon as it is made. In either case a
  // pass has the same points, whatever the number of threads. Stages that depend on the order refuse an unordered flow.
  bool ordered = true;
  // With threads: how many points may be read and not yet consumed; 0: 16 for each thread.
  int buffer = 0;
};

// Each point becomes function(point); see point_function.h for its forms. One that returns nothing drops the point.
// The function must depend on the point and the random numbers it is given alone, or saved positions do not bring back
// the same points. An array that it is given may be shared with the source: clone() it before changing it in place.
//
// With threads, the rest is as with prefetch(): threads start with the first next() of a pass and end with it; state()
// is that after the last point consumed; an error arrives in the place of its point (if unordered: as soon as it
// happens), once, and ends the pass, and restore(state()) tries that point again.
FlowStage map(PointFunction function, MapOptions options = {});

// The same for one component; the others pass unchanged.
FlowStage map_component(std::function<Array(Array)> function, std::size_t index = 0, MapOptions options = {});
FlowStage map_component(std::function<Array(Array, RandomStream&)> function, std::size_t index = 0,
                        MapOptions options = {});

// Keeps the points for which the function is true.
FlowStage filter(std::function<bool(const DataPoint&)> keep, MapOptions options = {});

}  // namespace belfry
#pragma GCC visibility pop
