#include "belfry/ops/internal/update_op.h"

#include "belfry/base/check.h"
#include "belfry/graph/graph.h"
#include "belfry/ops/internal/input_checks.h"
#include "belfry/ops/internal/update_checks.h"

namespace belfry {
namespace {

// Adds the variable, slots and scalars; gives the index of the first input after them.
int add_inputs(OpDefinition& op, const UpdateSignature& s, const char* variable) {
  op.input(variable).updates(0);
  int next = 1;
  for (const UpdateSlot& slot : s.slots) op.input(slot.name).updates(next++);
  if (s.counted) {
    op.input("step");
    ++next;
  }
  op.input("learning_rate");
  return next + 1;
}

void check_inputs(const ShapeContext& c, const UpdateSignature& s) {
  int next = 1;
  for (const UpdateSlot& slot : s.slots) check_alike(c, next++, slot.what);
  if (s.counted) check_scalar(c, next++, "a step");
  check_scalar(c, next, "a learning rate");
}

// ids and rows, the last two inputs, belong to the variable.
void check_rows(const ShapeContext& c, int ids, int rows) {
  const Shape& table = c.input(0);
  BELFRY_CHECK(table.rank() >= 1, "expected a table of rank 1 or more, got {}", to_string(table));
  check_label_type(c, ids, "ids");
  BELFRY_CHECK(c.input(ids).rank() == 1, "expected ids of rank 1, got {}", to_string(c.input(ids)));
  Shape expected = table;
  expected.set(0, c.input(ids)[0]);
  BELFRY_CHECK(c.dtype(rows) == c.dtype(0) && compatible(c.input(rows), expected),
               "expected rows of the table's {} {}, got {} {}", name_of(c.dtype(0)), to_string(expected),
               name_of(c.dtype(rows)), to_string(c.input(rows)));
}

std::vector<Operand> operands(const UpdateCall& call) {
  const Operand& beside = call.scalars.front();
  std::vector<Operand> out{updated(call.variable, beside)};
  for (const Variable& slot : call.slots) out.push_back(updated(slot, beside));
  out.insert(out.end(), call.scalars.begin(), call.scalars.end());
  return out;
}

}  // namespace

OpRegistration define_update(const UpdateSignature& signature) {
  OpDefinition op("Apply" + std::string(signature.rule));
  const int gradient = add_inputs(op, signature, "variable");
  return op.input("gradient")
      .output("new_value")
      .shape([signature, gradient](const ShapeContext& c) {
        check_inputs(c, signature);
        check_alike(c, gradient, "a gradient");
        return updated_shape(c);
      })
      .not_differentiable()
      .doc(std::string(signature.doc) + ".");
}

OpRegistration define_rows_update(const UpdateSignature& signature) {
  OpDefinition op("Apply" + std::string(signature.rule) + "Rows");
  const int ids = add_inputs(op, signature, "table");
  return op.input("ids")
      .input("rows")
      .output("new_value")
      .shape([signature, ids](const ShapeContext& c) {
        check_inputs(c, signature);
        check_rows(c, ids, ids + 1);
        return updated_shape(c);
      })
      .not_differentiable()
      .doc(std::string(signature.doc) + " on some rows of a table.");
}

Tensor add_update(OpRegistration op, const UpdateCall& call, const Operand& gradient) {
  std::vector<Operand> inputs = operands(call);
  inputs.push_back(gradient);
  return add_tensor(op, inputs, {.name = call.name, .attributes = call.attributes});
}

Tensor add_update(OpRegistration op, const UpdateCall& call, const SparseRows& gradient) {
  std::vector<Operand> inputs = operands(call);
  inputs.insert(inputs.end(), {gradient.ids, gradient.rows});
  return add_tensor(op, inputs, {.name = call.name, .attributes = call.attributes});
}

}  // namespace belfry
