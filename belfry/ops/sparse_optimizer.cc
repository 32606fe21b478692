#include "belfry/ops/sparse_optimizer.h"

#include "belfry/base/check.h"
#include "belfry/graph/graph.h"
#include "belfry/ops/input_checks.h"
#include "belfry/ops/update_checks.h"

namespace belfry {
namespace {

// ids and rows, the last two inputs, belong to the variable.
Shapes table_shape(const ShapeContext& c) {
  const int ids = c.inputs() - 2, rows = c.inputs() - 1;
  const Shape& table = c.input(0);
  BELFRY_CHECK(table.rank() >= 1, "expected a table of rank 1 or more, got {}", to_string(table));
  check_label_type(c, ids, "ids");
  BELFRY_CHECK(c.input(ids).rank() == 1, "expected ids of rank 1, got {}", to_string(c.input(ids)));
  Shape expected = table;
  expected.set(0, c.input(ids)[0]);
  BELFRY_CHECK(c.dtype(rows) == c.dtype(0) && compatible(c.input(rows), expected),
               "expected rows of the table's {} {}, got {} {}", name_of(c.dtype(0)), to_string(expected),
               name_of(c.dtype(rows)), to_string(c.input(rows)));
  return updated_shape(c);
}

const OpRegistration sgd_def = define_op("ApplySgdRows")
                                   .input("table")
                                   .input("learning_rate")
                                   .input("ids")
                                   .input("rows")
                                   .output("new_value")
                                   .updates(0)
                                   .shape([](const ShapeContext& c) {
                                     check_scalar(c, 1, "a learning rate");
                                     return table_shape(c);
                                   })
                                   .not_differentiable()
                                   .doc("One step of gradient descent on some rows of a table.");

const OpRegistration momentum_def = define_op("ApplyMomentumRows")
                                        .input("table")
                                        .input("accumulator")
                                        .input("learning_rate")
                                        .input("ids")
                                        .input("rows")
                                        .output("new_value")
                                        .updates(0)
                                        .updates(1)
                                        .shape([](const ShapeContext& c) {
                                          check_alike(c, 1, "an accumulator");
                                          check_scalar(c, 2, "a learning rate");
                                          return table_shape(c);
                                        })
                                        .not_differentiable()
                                        .doc("One step of gradient descent with momentum on some rows of a table.");

const OpRegistration adam_def = define_op("ApplyAdamRows")
                                    .input("table")
                                    .input("m")
                                    .input("v")
                                    .input("step")
                                    .input("learning_rate")
                                    .input("ids")
                                    .input("rows")
                                    .output("new_value")
                                    .updates(0)
                                    .updates(1)
                                    .updates(2)
                                    .shape([](const ShapeContext& c) {
                                      check_alike(c, 1, "m");
                                      check_alike(c, 2, "v");
                                      check_scalar(c, 3, "a step");
                                      check_scalar(c, 4, "a learning rate");
                                      return table_shape(c);
                                    })
                                    .not_differentiable()
                                    .doc("One step of Adam on some rows of a table.");

}  // namespace

Tensor apply_sgd_rows(const Variable& variable, const Operand& learning_rate, const SparseRows& gradient,
                      const SgdUpdate& rule, std::string_view name) {
  return add_tensor(sgd_def, {updated(variable, learning_rate), learning_rate, gradient.ids, gradient.rows},
                    {.name = name, .attributes = {{"weight_decay", rule.weight_decay}}});
}

Tensor apply_momentum_rows(const Variable& variable, const Variable& accumulator, const Operand& learning_rate,
                           const SparseRows& gradient, const MomentumUpdate& rule, std::string_view name) {
  return add_tensor(
      momentum_def,
      {updated(variable, learning_rate), updated(accumulator, learning_rate), learning_rate, gradient.ids,
       gradient.rows},
      {.name = name,
       .attributes = {{"momentum", rule.momentum}, {"nesterov", rule.nesterov}, {"weight_decay", rule.weight_decay}}});
}

Tensor apply_adam_rows(const Variable& variable, const AdamSlots& slots, const Operand& step,
                       const Operand& learning_rate, const SparseRows& gradient, const AdamUpdate& rule,
                       std::string_view name) {
  return add_tensor(adam_def,
                    {updated(variable, step), updated(slots.m, step), updated(slots.v, step), step, learning_rate,
                     gradient.ids, gradient.rows},
                    {.name = name,
                     .attributes = {{"beta1", rule.beta1},
                                    {"beta2", rule.beta2},
                                    {"epsilon", rule.epsilon},
                                    {"weight_decay", rule.weight_decay}}});
}

}  // namespace belfry
