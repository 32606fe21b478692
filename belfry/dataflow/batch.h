// Batches: n points become one, each component stacked along a new first axis.
//
//   images | batch(128)                                            // image [128, 28, 28, 1], label [128]
//   images | batch(128, Remainder::keep)                           // the last batch may be smaller
//   sentences | batch(32, {.ragged = Ragged::pad, .pad_value = -1})   // [32, longest], ..., and the lengths [32]
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "belfry/dataflow/flow.h"

#pragma GCC visibility push(default)
namespace belfry {

enum class Remainder {
  drop,  // the points left over at the end of a pass are not used in it
  keep,  // they make a smaller last batch
};

// What becomes of a component whose shape differs from point to point. Each ragged component adds one more, i64, with
// the lengths of the n points. These come after all others, in the order of the components they belong to: points
// {words, label, tags} become {words, label, tags, lengths of words, lengths of tags}. They are there whether or not
// the shapes of a batch differ, so that all batches have the same components.
enum class Ragged {
  refuse,   // shapes that differ are an error
  pad,      // filled up along the first axis to the longest: [n, longest, ...]; lengths [n]. Other axes must agree
  pad_all,  // filled up along every axis: [n, largest shape]; lengths [n, rank] are the points' shapes
  concat,   // one after the other along the first axis: [sum of lengths, ...]; lengths [n]. Other axes must agree
};

struct BatchOptions {
  Remainder remainder = Remainder::drop;
  Ragged ragged = Ragged::refuse;
  double pad_value = 0;  // converted to the component's dtype as Array::cast() does
  // Which components are ragged; none named: all but the scalars. The others are stacked and must agree in shape.
  std::vector<std::size_t> ragged_components{};
};

// Within a batch all shapes must agree, unless it is ragged; throughout a pass, so must the number of components and
// their dtypes.
FlowStage batch(std::int64_t points, Remainder remainder = Remainder::drop);
FlowStage batch(std::int64_t points, BatchOptions options);

// Each batch has points of one shape: points are gathered by the shapes of their components, and a batch leaves as soon
// as there are enough points of one shape. At the end of a pass the smaller batches follow, if they are kept, the one
// with the oldest point first. For images of a few sizes, or sequences cut to a few lengths: up to a batch per shape
// waits in memory.
//
// A position is restored by moving the source back to the oldest point that waits and reading those that wait again
// (if the source has no random access, those between them too).
FlowStage batch_by_shape(std::int64_t points, Remainder remainder = Remainder::drop);

}  // namespace belfry
#pragma GCC visibility pop
