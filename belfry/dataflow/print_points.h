// Looking at what flows by.
#pragma once

#include <cstdint>
#include <string>

#include "belfry/dataflow/flow.h"

#pragma GCC visibility push(default)
namespace belfry {

struct PrintPointsOptions {
  std::int64_t every = 1;  // print every n-th point, beginning with the first of each pass
  std::string name{};      // a prefix, to tell several apart
  int values = 0;          // how many elements of each component are shown
};

// Points pass unchanged; for every n-th, a line goes to the log:
//
//   [train] point 12 of epoch 0: f32 [28, 28, 1] from 0 to 1; i32 [] from 7 to 7
//
// With random access, points are printed when they are read, under the index that they have here.
FlowStage print_points(PrintPointsOptions options = {});

// The text for one point: "f32 [2] from 0 to 1 {0, 1}; i32 [] from 7 to 7". NaNs are counted, and omitted from the
// range.
std::string describe_point(const DataPoint& point, int values = 0);

}  // namespace belfry
#pragma GCC visibility pop
