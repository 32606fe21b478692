#include "belfry/ops/sparse_rows.h"

#include <algorithm>

#include "belfry/base/check.h"
#include "belfry/graph/graph.h"
#include "belfry/ops/array_ops.h"
#include "belfry/ops/basic.h"
#include "belfry/ops/internal/input_checks.h"
#include "belfry/ops/pointwise.h"

namespace belfry {
namespace {

const OpKind kAdd = op_kind("Add"), kDiv = op_kind("Div"), kIdentity = op_kind("Identity"), kMul = op_kind("Mul"),
             kScatterRows = op_kind("ScatterRows");

// `first` + the shape of a row of the table.
Shape with_rows(const Shape& first, const Shape& table) {
  Shape out = first;
  for (int i = 1; i < table.rank(); ++i) out.push_back(table[i]);
  return out;
}

void check_table(const Shape& table) {
  BELFRY_CHECK(table.rank() >= 1, "expected a table of rank 1 or more, got {}", to_string(table));
}

// rows[k] = sum of dy[i] over the i with indices[i] == ids[k], positions[i] = k
const OpRegistration sum_rows_def =
    define_op("SumRows")
        .input("indices")
        .input("dy")
        .input("table")
        .output("ids")
        .output("rows")
        .output("positions")  // of each index among the ids; -1 for -1
        .shape_only(2)
        .shape([](const ShapeContext& c) {
          const Shape &indices = c.input(0), &table = c.input(2);
          check_label_type(c, 0, "indices");
          check_float(c, 1, "dy");
          check_table(table);
          check_shape(c, 1, "dy", with_rows(indices, table));
          const bool known = indices.is_concrete() && table[0] != kAny;
          const std::int64_t capacity = known ? std::min(indices.elements(), table[0]) : kAny;
          return Shapes{Shape{capacity}, with_rows({capacity}, table), indices};
        })
        .dtype([](const ShapeContext& c) { return std::vector<DType>{c.dtype(0), c.dtype(1), c.dtype(0)}; })
        .gradient([](const GradientContext& c) {
          if (!c.has_grad(1)) return Tensors(3);
          const Attributes padded{{"axis", std::int64_t{0}}, {"padded", true}};
          return Tensors{Tensor(), add_tensor(find_op("Gather"), {c.grad(1), c.output(2)}, {.attributes = padded}),
                         Tensor()};
        })
        .doc("Rows with equal indices added up: sorted ids, then -1, and a row for each of them.");

const OpRegistration scatter_rows_def =
    define_op("ScatterRows")
        .input("ids")
        .input("rows")
        .input("table")
        .output("dense")
        .shape_only(2)
        .shape([](const ShapeContext& c) {
          check_label_type(c, 0, "ids");
          check_float(c, 1, "rows");
          check_table(c.input(2));
          BELFRY_CHECK(c.input(0).rank() == 1, "expected ids of rank 1, got {}", to_string(c.input(0)));
          check_shape(c, 1, "rows", with_rows(c.input(0), c.input(2)));
          return c.input(2);
        })
        .dtype([](const ShapeContext& c) { return std::vector<DType>{c.dtype(1)}; })
        .gradient([](const GradientContext& c) {
          const Attributes padded{{"axis", std::int64_t{0}}, {"padded", true}};
          return Tensors{Tensor(), add_tensor(find_op("Gather"), {c.grad(), c.input(0)}, {.attributes = padded}),
                         Tensor()};
        })
        .doc("Zeros in the shape of a table, with rows at the places that ids name.");

SparseRows outputs_of(Node* sum, const Tensor& table) { return {{sum, 0}, {sum, 1}, table}; }

std::optional<SparseRows> scaled(const Tensor& gradient, const Tensor& scale, bool divide) {
  if (scale.rank() != 0) return std::nullopt;
  std::optional<SparseRows> out = as_sparse_rows(gradient);
  if (out) out->rows = divide ? out->rows / scale : out->rows * scale;
  return out;
}

std::optional<SparseRows> sum_of(const Tensor& a, const Tensor& b) {
  const std::optional<SparseRows> first = as_sparse_rows(a);
  if (!first) return std::nullopt;
  const std::optional<SparseRows> second = as_sparse_rows(b);
  if (!second || !compatible(a.shape(), b.shape())) return std::nullopt;
  const DType ids = first->ids.dtype() == second->ids.dtype() ? first->ids.dtype() : i64;
  return sum_rows(concat({cast(first->ids, ids), cast(second->ids, ids)}, 0), concat({first->rows, second->rows}, 0),
                  first->like);
}

}  // namespace

SparseRows sum_rows(const Operand& indices, const Operand& dy, const Operand& table) {
  return outputs_of(add_op(sum_rows_def, {indices, dy, table}), table.tensor());
}

Tensor scatter_rows(const SparseRows& rows, std::string_view name) {
  return add_tensor(scatter_rows_def, {rows.ids, rows.rows, rows.like}, {.name = name});
}

std::optional<SparseRows> as_sparse_rows(const Tensor& gradient) {
  if (!gradient) return std::nullopt;
  const OpKind op = gradient.node()->def->kind;
  const std::vector<Tensor>& inputs = gradient.node()->inputs;
  if (op == kScatterRows) return SparseRows{inputs[0], inputs[1], inputs[2]};
  if (op == kIdentity) return as_sparse_rows(inputs[0]);
  if (op == kAdd) return sum_of(inputs[0], inputs[1]);
  if (op == kDiv) return scaled(inputs[0], inputs[1], true);
  if (op != kMul) return std::nullopt;
  const std::optional<SparseRows> left = scaled(inputs[0], inputs[1], false);
  return left ? left : scaled(inputs[1], inputs[0], false);
}

}  // namespace belfry
