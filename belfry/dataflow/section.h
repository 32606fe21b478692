// Some of the points of each pass: the first ones, those behind them, or a flow cut in two.
//
//   auto [train, validation] = split(from_npz("all.npz"), 0.9);
#pragma once

#include <cstdint>
#include <utility>

#include "belfry/dataflow/flow.h"

namespace belfry {

// The first points of each pass of the source, or all that there are. The rest of the pass is not read.
FlowStage take(std::int64_t points);
// Each pass of the source without its first points, which are not read where it has random access.
FlowStage skip(std::int64_t points);

// A flow with random access cut in two: the first `share` of the points of its epoch 0, rounded to the nearest, and the
// others; in every epoch the same ones. So shuffle behind the cut, or before it to deal the points by chance, or both.
// Both parts may be read at the same time.
//
// A flow without random access is cut by take() and skip() of two that are built alike, or cached first.
std::pair<Flow, Flow> split(Flow flow, double share);
// The first so many points, and the others.
std::pair<Flow, Flow> split_at(Flow flow, std::int64_t points);

}  // namespace belfry
