#include "belfry/ops/optimizer.h"

#include "belfry/graph/graph.h"
#include "belfry/ops/update_checks.h"

namespace belfry {
namespace {

const OpRegistration sgd_def = define_op("ApplySgd")
                                   .input("variable")
                                   .input("learning_rate")
                                   .input("gradient")
                                   .output("new_value")
                                   .updates(0)
                                   .shape([](const ShapeContext& c) {
                                     check_scalar(c, 1, "a learning rate");
                                     check_alike(c, 2, "a gradient");
                                     return updated_shape(c);
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
                                          return updated_shape(c);
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
                                      return updated_shape(c);
                                    })
                                    .not_differentiable()
                                    .doc("One step of Adam.");

}  // namespace

Tensor apply_sgd(const Variable& variable, const Operand& learning_rate, const Operand& gradient, const SgdUpdate& rule,
                 std::string_view name) {
  return add_tensor(sgd_def, {updated(variable, learning_rate), learning_rate, gradient},
                    {.name = name, .attributes = {{"weight_decay", rule.weight_decay}}});
}

Tensor apply_momentum(const Variable& variable, const Variable& accumulator, const Operand& learning_rate,
                      const Operand& gradient, const MomentumUpdate& rule, std::string_view name) {
  return add_tensor(
      momentum_def, {updated(variable, learning_rate), updated(accumulator, learning_rate), learning_rate, gradient},
      {.name = name,
       .attributes = {{"momentum", rule.momentum}, {"nesterov", rule.nesterov}, {"weight_decay", rule.weight_decay}}});
}

Tensor apply_adam(const Variable& variable, const AdamSlots& slots, const Operand& step, const Operand& learning_rate,
                  const Operand& gradient, const AdamUpdate& rule, std::string_view name) {
  return add_tensor(
      adam_def,
      {updated(variable, step), updated(slots.m, step), updated(slots.v, step), step, learning_rate, gradient},
      {.name = name,
       .attributes = {{"beta1", rule.beta1},
                      {"beta2", rule.beta2},
                      {"epsilon", rule.epsilon},
                      {"weight_decay", rule.weight_decay}}});
}

}  // namespace belfry
