// Pointwise ops by name, and the contents of their rows (pointwise_rows.h).
#pragma once

#include <optional>
#include <string_view>

#include "belfry/engine/cpu/fuse/pointwise_program.h"
#include "belfry/graph/op_kind.h"

namespace belfry {

// Nothing if it is not a pointwise op.
std::optional<PointwiseOp> find_pointwise(OpKind op);
PointwiseOp pointwise_op(std::string_view op);  // of one that is known to exist
int pointwise_op_count();
// How many of a, b, c an op reads.
int source_count(PointwiseOp op);
ZeroIf zero_if(PointwiseOp op);

}  // namespace belfry
