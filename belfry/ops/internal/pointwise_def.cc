#include "belfry/ops/internal/pointwise_def.h"

#include "belfry/base/check.h"
#include "belfry/ops/broadcast.h"

namespace belfry {
namespace {

void check_same_type(const ShapeContext& c) {
  BELFRY_CHECK(c.dtype(0) == c.dtype(1), "expected operands of one type, got {} and {}. Use cast()",
               name_of(c.dtype(0)), name_of(c.dtype(1)));
}

Shapes broadcast_rule(const ShapeContext& c, Elements allowed) {
  check_same_type(c);
  check_elements(c, 0, allowed);
  return broadcast(c.input(0), c.input(1));
}

}  // namespace

OpDefinition define_unary(const char* name, Elements allowed, const char* doc, UnaryGradient gradient) {
  OpDefinition op = define_op(name);
  op.input("x").output("y").doc(doc).shape([allowed](const ShapeContext& c) {
    check_elements(c, 0, allowed);
    return c.input(0);
  });
  if (gradient == nullptr) return op.not_differentiable();
  return op.gradient(
      [gradient](const GradientContext& c) { return Tensors{gradient(c.grad(), c.input(0), c.output())}; });
}

OpDefinition define_binary(const char* name, Elements allowed, const char* doc, BinaryGradient gradient,
                           IntFunction ints) {
  OpDefinition op = define_op(name);
  op.input("a").input("b").output("y").doc(doc).shape(
      [allowed](const ShapeContext& c) { return broadcast_rule(c, allowed); });
  if (ints != nullptr) op.ints([ints](const ShapeContext& c) { return combined_ints(c, ints); });
  if (gradient == nullptr) return op.not_differentiable();
  return op.gradient([gradient](const GradientContext& c) {
    const Tensor a = c.input(0), b = c.input(1);
    const auto [da, db] = gradient(c.grad(), a, b, c.output());
    return Tensors{da ? sum_to_like(da, a) : da, db ? sum_to_like(db, b) : db};
  });
}

OpRegistration define_comparison(const char* name, const char* doc) {
  return define_op(name)
      .input("a")
      .input("b")
      .output("y")
      .doc(doc)
      .shape([](const ShapeContext& c) { return broadcast_rule(c, Elements::any); })
      .dtype(boolean)
      .not_differentiable();
}

}  // namespace belfry
