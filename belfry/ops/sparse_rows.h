// Gradients of which most rows are zero, as gather() leaves them for a table.
//
// In the graph such a gradient is SumRows (equal ids summed up) followed by ScatterRows, whose result is the dense
// tensor: any op may read it. Code that needs only the rows asks for them first:
//
//   if (const auto sparse = as_sparse_rows(gradient)) norm = l2_norm(sparse->rows);
//
// and if nothing reads the dense tensor, it is never made.
#pragma once

#include <optional>
#include <string_view>

#include "belfry/graph/tensor.h"

#pragma GCC visibility push(default)
namespace belfry {

// ids [capacity] are sorted and distinct, then -1 to the end; rows [capacity, ...] are 0 where the id is -1. The
// capacity is the number of ids that were looked up, or the number of the table's rows if that is smaller.
struct SparseRows {
  Tensor ids{}, rows{};
  Tensor like{};  // the table, for its shape
};

// The rows of dy [indices' shape, row] that have the same index added up, in the order they come in; those with index
// -1 are omitted.
SparseRows sum_rows(const Operand& indices, const Operand& dy, const Operand& table);

// The dense tensor: of the table's shape, 0 outside the rows.
Tensor scatter_rows(const SparseRows& rows, std::string_view name = "");

// The rows of a gradient made by scatter_rows(), by a product or quotient of such a gradient and a scalar, or by a sum
// of two of them; nothing for any other tensor. May add ops to the graph.
std::optional<SparseRows> as_sparse_rows(const Tensor& gradient);

}  // namespace belfry
#pragma GCC visibility pop
