#include "belfry/ops/optimizer.h"

#include "belfry/base/check.h"
#include "belfry/graph/graph.h"

namespace belfry {
namespace {

void check_alike(const ShapeContext& c, int index, const char* what) {
  BELFRY_CHECK(c.dtype(index) == c.dtype(0) && compatible(c.input(index), c.input(0)),
               "expected {} of the variable's {} {}, got {} {}", what, name_of(c.dtype(0)), to_string(c.input(0)),
               name_of(c.dtype(index)), to_string(c.input(index)));
}

void check_scalar(const ShapeContext& c, int index, const char* what) {
  BELFRY_CHECK(c.input(index).rank() == 0 && is_float(c.dtype(index)), "expected {} that is one float, got {} {}", what,
               name_of(c.dtype(index)), to_string(c.input(index)));
}

Shapes variable_shape(const ShapeContext& c) {
  BELFRY_CHECK(is_float(c.dtype(0)), "expected a variable of a float type, got {}", name_of(c.dtype(0)));
  return c.input(0);
}

const OpRegistration sgd_def = define_op("ApplySgd")
                                   .input("variable")
                                   .input("learning_rate")
                                   .input("gradient")
                                   .output("new_value")
                                   .updates(0)
                                   .shape([](const ShapeContext& c) {
                                     check_scalar(c, 1, "a learning rate");
                                     check_alike(c, 2, "a gradient");
                                     return variable_shape(c);
                                   })
                                   .not_differentiable()
                                   .doc("One step of gradient descent.");

const OpRegistration momentum_def = define_op("ApplyMomentum")
                                        .input("variable")
                                        .input("accumulator")
                                        .input("learning_rate")
                                        .input("gradient")
                                        .output("new_value")
                                        .updates(0)
                                        .updates(1)
                                        .shape([](const ShapeContext& c) {
                                          check_alike(c, 1, "an accumulator");
                                          check_scalar(c, 2, "a learning rate");
                                          check_alike(c, 3, "a gradient");
                                          return variable_shape(c);
                                        })
                                        .not_differentiable()
                                        .doc("One step of gradient descent with momentum.");

const OpRegistration adam_def = define_op("ApplyAdam")
                                    .input("variable")
                                    .input("m")
                                    .input("v")
                                    .input("step")
                                    .input("learning_rate")
                                    .input("gradient")
                                    .output("new_value")
                                    .updates(0)
                                    .updates(1)
                                    .updates(2)
                                    .shape([](const ShapeContext& c) {
                                      check_alike(c, 1, "m");
                                      check_alike(c, 2, "v");
                                      check_scalar(c, 3, "a step");
                                      check_scalar(c, 4, "a learning rate");
                                      check_alike(c, 5, "a gradient");
                                      return variable_shape(c);
                                    })
                                    .not_differentiable()
                                    .doc("One step of Adam.");

// A variable that an op overwrites: itself, whatever value a getter makes it show.
Operand handle(const Variable& variable, const Operand& beside) { return {variable.handle(), beside.where()}; }

}  // namespace

Tensor apply_sgd(const Variable& variable, const Operand& learning_rate, const Operand& gradient, const SgdUpdate& rule,
                 std::string_view name) {
  return add_tensor(sgd_def, {handle(variable, learning_rate), learning_rate, gradient},
                    {.name = name, .attributes = {{"weight_decay", rule.weight_decay}}});
}

Tensor apply_momentum(const Variable& variable, const Variable& accumulator, const Operand& learning_rate,
                      const Operand& gradient, const MomentumUpdate& rule, std::string_view name) {
  return add_tensor(
      momentum_def, {handle(variable, learning_rate), handle(accumulator, learning_rate), learning_rate, gradient},
      {.name = name,
       .attributes = {{"momentum", rule.momentum}, {"nesterov", rule.nesterov}, {"weight_decay", rule.weight_decay}}});
}

Tensor apply_adam(const Variable& variable, const AdamSlots& slots, const Operand& step, const Operand& learning_rate,
                  const Operand& gradient, const AdamUpdate& rule, std::string_view name) {
  return add_tensor(
      adam_def, {handle(variable, step), handle(slots.m, step), handle(slots.v, step), step, learning_rate, gradient},
      {.name = name,
       .attributes = {{"beta1", rule.beta1},
                      {"beta2", rule.beta2},
                      {"epsilon", rule.epsilon},
                      {"weight_decay", rule.weight_decay}}});
}

}  // namespace belfry
