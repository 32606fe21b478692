#include "belfry/ops/matmul.h"

#include "belfry/base/check.h"
#include "belfry/graph/graph.h"

namespace belfry {
namespace {

const OpRegistration matmul_def =
    define_op("MatMul")
        .input("a")
        .input("b")
        .output("y")
        .shape([](const ShapeContext& c) {
          const Shape &a = c.input(0), &b = c.input(1);
          BELFRY_CHECK(a.rank() == 2 && b.rank() == 2,
                       "expected two matrices, got {} and {}. Use reshape() or batch_flatten()", to_string(a),
                       to_string(b));
          BELFRY_CHECK(c.dtype(0) == c.dtype(1) && is_float(c.dtype(0)),
                       "expected matrices of one float type, got {} and {}. Use cast()", name_of(c.dtype(0)),
                       name_of(c.dtype(1)));
          const bool ta = c.attributes().flag("transpose_a"), tb = c.attributes().flag("transpose_b");
          const std::int64_t inner_a = a[ta ? 0 : 1], inner_b = b[tb ? 1 : 0];
          BELFRY_CHECK(inner_a == inner_b || inner_a == kAny || inner_b == kAny,
                       "expected inner dimensions that agree, got {} of {}{} and {} of {}{}. Use .transpose_a or "
                       ".transpose_b, or reshape() one",
                       inner_a, to_string(a), ta ? " transposed" : "", inner_b, to_string(b), tb ? " transposed" : "");
          return Shape{a[ta ? 1 : 0], b[tb ? 0 : 1]};
        })
        // y = a b:    da = dy b',  db = a' dy        y = a' b:   da = b dy',   db = a dy
        // y = a b':   da = dy b,   db = dy' a        y = a' b':  da = b' dy',  db = dy' a'
        .gradient([](const GradientContext& c) {
          const Tensor a = c.input(0), b = c.input(1), dy = c.grad();
          const bool ta = c.attributes().flag("transpose_a"), tb = c.attributes().flag("transpose_b");
          const Tensor da =
              ta ? matmul(b, dy, {.transpose_a = tb, .transpose_b = true}) : matmul(dy, b, {.transpose_b = !tb});
          const Tensor db =
              tb ? matmul(dy, a, {.transpose_a = true, .transpose_b = ta}) : matmul(a, dy, {.transpose_a = !ta});
          return Tensors{da, db};
        })
        .doc("The product of two matrices, either one transposed first if asked.");

}  // namespace

Tensor matmul(const Operand& a, const Operand& b, const MatMulOptions& options, std::string_view name) {
  return add_tensor(
      matmul_def, {a, b},
      {.name = name, .attributes = {{"transpose_a", options.transpose_a}, {"transpose_b", options.transpose_b}}});
}
Tensor matmul(const Operand& a, const Operand& b, std::string_view name) { return matmul(a, b, {}, name); }

}  // namespace belfry
