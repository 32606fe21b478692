#include "belfry/ops/optimizer.h"

#include "belfry/ops/internal/update_op.h"
#include "belfry/ops/sparse_optimizer.h"

namespace belfry {
namespace {

const UpdateSignature sgd_signature{.rule = "Sgd", .doc = "One step of gradient descent"};
const OpRegistration sgd_def = define_update(sgd_signature), sgd_rows_def = define_rows_update(sgd_signature);

UpdateCall call_of(const Variable& variable, const Operand& learning_rate, const SgdUpdate& rule,
                   std::string_view name) {
  return {.variable = variable,
          .scalars = {learning_rate},
          .attributes = {{"weight_decay", rule.weight_decay}},
          .name = name};
}

const UpdateSignature momentum_signature{.rule = "Momentum",
                                         .slots = {{"accumulator", "an accumulator"}},
                                         .doc = "One step of gradient descent with momentum"};
const OpRegistration momentum_def = define_update(momentum_signature),
                     momentum_rows_def = define_rows_update(momentum_signature);

UpdateCall call_of(const Variable& variable, const Variable& accumulator, const Operand& learning_rate,
                   const MomentumUpdate& rule, std::string_view name) {
  return {.variable = variable,
          .slots = {accumulator},
          .scalars = {learning_rate},
          .attributes = {{"momentum", rule.momentum},
                         {"nesterov", rule.nesterov},
                         {"weight_decay", rule.weight_decay},
                         {"decoupled_decay", rule.decoupled_decay}},
          .name = name};
}

const UpdateSignature adam_signature{
    .rule = "Adam", .slots = {{"m", "m"}, {"v", "v"}}, .counted = true, .doc = "One step of Adam"};
const OpRegistration adam_def = define_update(adam_signature), adam_rows_def = define_rows_update(adam_signature);

UpdateCall call_of(const Variable& variable, const AdamSlots& slots, const std::vector<Operand>& scalars,
                   const AdamUpdate& rule, std::string_view name) {
  return {.variable = variable,
          .slots = {slots.m, slots.v},
          .scalars = scalars,
          .attributes = {{"beta1", rule.beta1},
                         {"beta2", rule.beta2},
                         {"epsilon", rule.epsilon},
                         {"weight_decay", rule.weight_decay},
                         {"decoupled_decay", rule.decoupled_decay}},
          .name = name};
}

}  // namespace

Tensor apply_sgd(const Variable& variable, const Operand& learning_rate, const Operand& gradient, const SgdUpdate& rule,
                 std::string_view name) {
  return add_update(sgd_def, call_of(variable, learning_rate, rule, name), gradient);
}
Tensor apply_sgd_rows(const Variable& variable, const Operand& learning_rate, const SparseRows& gradient,
                      const SgdUpdate& rule, std::string_view name) {
  return add_update(sgd_rows_def, call_of(variable, learning_rate, rule, name), gradient);
}

Tensor apply_momentum(const Variable& variable, const Variable& accumulator, const Operand& learning_rate,
                      const Operand& gradient, const MomentumUpdate& rule, std::string_view name) {
  return add_update(momentum_def, call_of(variable, accumulator, learning_rate, rule, name), gradient);
}
Tensor apply_momentum_rows(const Variable& variable, const Variable& accumulator, const Operand& learning_rate,
                           const SparseRows& gradient, const MomentumUpdate& rule, std::string_view name) {
  return add_update(momentum_rows_def, call_of(variable, accumulator, learning_rate, rule, name), gradient);
}

Tensor apply_adam(const Variable& variable, const AdamSlots& slots, const Operand& step, const Operand& learning_rate,
                  const Operand& gradient, const AdamUpdate& rule, std::string_view name) {
  return add_update(adam_def, call_of(variable, slots, {step, learning_rate}, rule, name), gradient);
}
Tensor apply_adam_rows(const Variable& variable, const AdamSlots& slots, const Operand& step,
                       const Operand& learning_rate, const SparseRows& gradient, const AdamUpdate& rule,
                       std::string_view name) {
  return add_update(adam_rows_def, call_of(variable, slots, {step, learning_rate}, rule, name), gradient);
}

}  // namespace belfry
