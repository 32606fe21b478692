// Elements picked by number: rows of an embedding, columns of a matrix.
#pragma once

#include <string_view>

#include "belfry/graph/tensor.h"

#pragma GCC visibility push(default)
namespace belfry {

struct GatherOptions {
  int axis = 0;  // the axis of params that indices number
};

// The slices of params along an axis that indices (i32 or i64, any shape) name, in the shape params[:axis] + indices +
// params[axis + 1:]. An index outside [0, size of the axis) ends the run with a NumericError.
//
// Along axis 0 the gradient of params is sparse: it means a tensor of params' shape, but optimizers and gradient
// processors find in it the few rows that were looked up (see sparse_rows.h) and touch no others.
Tensor gather(const Operand& params, const Operand& indices, const GatherOptions& options = {},
              std::string_view name = "");

// The rows of a table [rows, ...] for ids of any shape: gather() along axis 0.
Tensor embedding_lookup(const Operand& table, const Operand& ids, std::string_view name = "");

}  // namespace belfry
#pragma GCC visibility pop
