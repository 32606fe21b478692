// Some of the points of each pass: the first ones, those after them, or a flow split in two.
//
//   auto [train, validation] = split(from_npz("all.npz"), 0.9);
#pragma once

#include <cstdint>
#include <utility>

#include "belfry/dataflow/flow.h"

#pragma GCC visibility push(default)
namespace belfry {

// The first points of each pass of the source, or all that there are. The rest of the pass is not read.
FlowStage take(std::int64_t points);
// Each pass of the source without its first points, which are not read where it has random access.
FlowStage skip(std::int64_t points);

// A flow with random access split in two: the first `share` of the points of its epoch 0, rounded to the nearest, and
// the others; the same ones in every epoch. So shuffle after the split, or before it to deal the points at random, or
// both.
// Both parts may be read at the same time.
//
// To split a flow without random access, cache it first, or build it twice and use take() and skip().
std::pair<Flow, Flow> split(Flow flow, double share);
// The first `points` points, and the others.
std::pair<Flow, Flow> split_at(Flow flow, std::int64_t points);

}  // namespace belfry
#pragma GCC visibility pop
