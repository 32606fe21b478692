#include "belfry/ops/logic.h"

#include "belfry/base/check.h"
#include "belfry/graph/graph.h"
#include "belfry/ops/internal/input_checks.h"

namespace belfry {
namespace {

void check_bool(const ShapeContext& c, int input) {
  BELFRY_CHECK(c.dtype(input) == boolean, "expected operands of type bool, got {}. Use a comparison or cast()",
               name_of(c.dtype(input)));
}

OpRegistration define_connective(const char* name, const char* doc) {
  return define_op(name)
      .input("a")
      .input("b")
      .output("y")
      .shape([](const ShapeContext& c) {
        check_bool(c, 0);
        check_bool(c, 1);
        return broadcast(c.input(0), c.input(1));
      })
      .not_differentiable()
      .doc(doc);
}

OpRegistration define_test(const char* name, const char* doc) {
  return define_op(name)
      .input("x")
      .output("y")
      .shape([](const ShapeContext& c) {
        check_float(c, 0, "x");
        return c.input(0);
      })
      .dtype(boolean)
      .not_differentiable()
      .doc(doc);
}

const OpRegistration and_def = define_connective("LogicalAnd", "Whether both are true.");
const OpRegistration or_def = define_connective("LogicalOr", "Whether one or both are true.");
const OpRegistration xor_def = define_connective("LogicalXor", "Whether exactly one is true.");
const OpRegistration not_def = define_op("LogicalNot")
                                   .input("x")
                                   .output("y")
                                   .shape([](const ShapeContext& c) {
                                     check_bool(c, 0);
                                     return c.input(0);
                                   })
                                   .not_differentiable()
                                   .doc("Whether x is false.");
const OpRegistration is_nan_def = define_test("IsNan", "Whether x is not a number.");
const OpRegistration is_inf_def = define_test("IsInf", "Whether x is infinite, of either sign.");
const OpRegistration is_finite_def = define_test("IsFinite", "Whether x is neither infinite nor NaN.");

Tensor made(OpRegistration def, const std::vector<Operand>& inputs, std::string_view name) {
  return add_tensor(def, inputs, {.name = name});
}

}  // namespace

Tensor logical_and(const Operand& a, const Operand& b, std::string_view name) { return made(and_def, {a, b}, name); }
Tensor logical_or(const Operand& a, const Operand& b, std::string_view name) { return made(or_def, {a, b}, name); }
Tensor logical_xor(const Operand& a, const Operand& b, std::string_view name) { return made(xor_def, {a, b}, name); }
Tensor logical_not(const Operand& x, std::string_view name) { return made(not_def, {x}, name); }
Tensor is_nan(const Operand& x, std::string_view name) { return made(is_nan_def, {x}, name); }
Tensor is_inf(const Operand& x, std::string_view name) { return made(is_inf_def, {x}, name); }
Tensor is_finite(const Operand& x, std::string_view name) { return made(is_finite_def, {x}, name); }

}  // namespace belfry
