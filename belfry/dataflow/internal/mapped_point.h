// One application of a PointFunction, as map() on one thread and on many does it.
#pragma once

#include <cstdint>
#include <string>

#include "belfry/dataflow/internal/origin.h"
#include "belfry/dataflow/internal/random_place.h"
#include "belfry/dataflow/internal/rethrow.h"
#include "belfry/dataflow/point_function.h"

namespace belfry {

// The place of a point in a pass: what its random numbers come from, and what errors name.
struct PointPlace {
  std::uint64_t seed = 0;  // as seed_behind() makes it
  std::uint64_t epoch = 0, index = 0;
};

// Errors name `flow`, a stage of kind `kind`.
inline std::optional<DataPoint> apply(const PointFunction& function, DataPoint&& point, const PointPlace& place,
                                      const DataFlow& flow, const std::string& kind) {
  RandomStream random = random_of(place.seed, place.epoch, place.index);
  const Origin origin = origin_of(point);
  try {
    return function(std::move(point), random);
  } catch (...) {
    rethrow_from(std::current_exception(), "[" + kind + "] the function of '" + flow.describe() + "' failed at point " +
                                               std::to_string(place.index) + " of epoch " +
                                               std::to_string(place.epoch) +
                                               (origin ? ", '" + *origin + "'" : std::string()));
  }
}

}  // namespace belfry
