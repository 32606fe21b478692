#include "belfry/ops/matmul.h"

#include "belfry/base/check.h"
#include "belfry/graph/graph.h"
#include "belfry/ops/broadcast.h"

namespace belfry {
namespace {

Shape batch_of(const Shape& matrices) { return matrices.slice(0, matrices.rank() - 2); }

Shape product_rule(const ShapeContext& c) {
  const Shape &a = c.input(0), &b = c.input(1);
  BELFRY_CHECK(a.rank() >= 2 && b.rank() >= 2,
               "expected two matrices or batches of them (rank 2 or more), got {} and {}. Use reshape() or "
               "expand_dims()",
               to_string(a), to_string(b));
  BELFRY_CHECK(c.dtype(0) == c.dtype(1) && is_float(c.dtype(0)),
               "expected matrices of one float type, got {} and {}. Use cast()", name_of(c.dtype(0)),
               name_of(c.dtype(1)));
  const bool ta = c.attributes().flag("transpose_a"), tb = c.attributes().flag("transpose_b");
  const std::int64_t inner_a = a[ta ? -2 : -1], inner_b = b[tb ? -1 : -2];
  BELFRY_CHECK(
      inner_a == inner_b || inner_a == kAny || inner_b == kAny,
      "expected inner dimensions that agree, got {} of {}{} and {} of {}{}. Use .transpose_a or .transpose_b, or "
      "reshape() one",
      inner_a, to_string(a), ta ? " transposed" : "", inner_b, to_string(b), tb ? " transposed" : "");
  Shape out = broadcast(batch_of(a), batch_of(b));
  out.push_back(a[ta ? -1 : -2]);
  out.push_back(b[tb ? -2 : -1]);
  return out;
}

// The gradient of one matrix that multiplied a whole batch: the batch's rows make up one product, without a sum over
// products. dy is that of y = a b, or of y = a b' if `transposed`.
Tensor shared_matrix_gradient(const Tensor& a, const Tensor& dy, bool transposed) {
  const Tensor rows_a = flatten_rows(a), rows_dy = flatten_rows(dy);
  return transposed ? matmul(rows_dy, rows_a, {.transpose_a = true}) : matmul(rows_a, rows_dy, {.transpose_a = true});
}

const OpRegistration matmul_def =
    define_op("MatMul")
        .input("a")
        .input("b")
        .output("y")
        .shape([](const ShapeContext& c) { return product_rule(c); })
        // y = a b:    da = dy b',  db = a' dy        y = a' b:   da = b dy',   db = a dy
        // y = a b':   da = dy b,   db = dy' a        y = a' b':  da = b' dy',  db = dy' a'
        // summed over the batches along which an operand was repeated
        .gradient([](const GradientContext& c) {
          const Tensor a = c.input(0), b = c.input(1), dy = c.grad();
          const bool ta = c.attributes().flag("transpose_a"), tb = c.attributes().flag("transpose_b");
          Tensor da =
              ta ? matmul(b, dy, {.transpose_a = tb, .transpose_b = true}) : matmul(dy, b, {.transpose_b = !tb});
          if (b.rank() > 2) da = sum_to_like(da, a);
          if (a.rank() > 2 && b.rank() == 2 && !ta) return Tensors{da, shared_matrix_gradient(a, dy, tb)};
          const Tensor db =
              tb ? matmul(dy, a, {.transpose_a = true, .transpose_b = ta}) : matmul(a, dy, {.transpose_a = !ta});
          return Tensors{da, a.rank() > 2 ? sum_to_like(db, b) : db};
        })
        .doc("The product of two matrices, or of each of a batch of them, either one transposed first if asked.");

const OpRegistration flatten_rows_def =
    define_op("FlattenRows")
        .input("x")
        .output("y")
        .shape([](const ShapeContext& c) {
          const Shape& x = c.input(0);
          BELFRY_CHECK(x.rank() >= 1, "expected a tensor with a last axis, got a scalar");
          return Shape{x.slice(0, x.rank() - 1).elements(), x[-1]};
        })
        .gradient([](const GradientContext& c) { return Tensors{reshape_like(c.grad(), c.input(0))}; })
        .keeps_elements()
        .doc("A matrix with one row for each vector along the last axis.");

}  // namespace

Tensor matmul(const Operand& a, const Operand& b, const MatMulOptions& options, std::string_view name) {
  return add_tensor(
      matmul_def, {a, b},
      {.name = name, .attributes = {{"transpose_a", options.transpose_a}, {"transpose_b", options.transpose_b}}});
}
Tensor matmul(const Operand& a, const Operand& b, std::string_view name) { return matmul(a, b, {}, name); }

Tensor flatten_rows(const Operand& x, std::string_view name) {
  return add_tensor(flatten_rows_def, {x}, {.name = name});
}

}  // namespace belfry
