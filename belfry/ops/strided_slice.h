// Parts of a tensor as Python's slices take them, and the order along an axis reversed.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "belfry/graph/attributes.h"
#include "belfry/graph/tensor.h"
#include "belfry/ops/sizes.h"

#pragma GCC visibility push(default)
namespace belfry {

// begin:end:step. Negative bounds count from the end, those outside the axis are clamped to it; without a bound, the
// range reaches to that end of the axis. Bounds may be integer scalars of the graph.
struct SliceRange {
  std::optional<Size> begin{}, end{};
  std::int64_t step = 1;  // not 0
};

// One range per axis; further axes are taken whole: x[1:, ::-2] is strided_slice(x, {{.begin = 1}, {.step = -2}}).
Tensor strided_slice(const Operand& x, const std::vector<SliceRange>& ranges, std::string_view name = "");

// The order along these axes reversed.
Tensor reverse(const Operand& x, const Ints& axes, std::string_view name = "");

struct ReverseSequenceOptions {
  int sequence_axis = 1, batch_axis = 0;
};
// The first lengths[i] steps of sequence i reversed, the others where they are. lengths [batch] of i32 or i64; one
// outside [0, steps] ends the run with a NumericError.
Tensor reverse_sequence(const Operand& x, const Operand& lengths, const ReverseSequenceOptions& options = {},
                        std::string_view name = "");

}  // namespace belfry
#pragma GCC visibility pop
