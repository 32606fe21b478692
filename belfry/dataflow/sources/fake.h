// Made-up points: for tests, and to measure a pipeline or a model without its data.
#pragma once

#include <cstdint>
#include <vector>

#include "belfry/dataflow/flow.h"

#pragma GCC visibility push(default)
namespace belfry {

// One component. Floats are uniform in [low, high), integers uniform in low, low + 1, ..., high - 1; a boolean is true
// as often as not, whatever the limits.
struct FakeSpec {
  DType dtype = f32;
  Shape shape{};
  double low = 0, high = 1;
};

struct FakeOptions {
  std::int64_t size = 1000;  // points in a pass
  std::uint64_t seed = 0;
  bool fixed = false;  // one point, made once and given again and again: costs nothing, so that other things show
};

// The numbers of a point come from (seed, epoch, index).
Flow fake_data(std::vector<FakeSpec> components, FakeOptions options = {});

}  // namespace belfry
#pragma GCC visibility pop
