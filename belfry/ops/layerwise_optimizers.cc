#include "belfry/ops/layerwise_optimizers.h"

#include "belfry/ops/internal/update_op.h"

namespace belfry {
namespace {

// The rules' own decay is "direction_decay": it is not part of the gradient. "weight_decay", which is, is reserved for
// the compiler here: it folds an L2 penalty into it.
const UpdateSignature lars_signature{
    .rule = "Lars", .slots = {{"accumulator", "an accumulator"}}, .doc = "One step of LARS"};
const OpRegistration lars_def = define_update(lars_signature), lars_rows_def = define_rows_update(lars_signature);

UpdateCall call_of(const Variable& variable, const Variable& accumulator, const Operand& learning_rate,
                   const LarsUpdate& rule, std::string_view name) {
  return {.variable = variable,
          .slots = {accumulator},
          .scalars = {learning_rate},
          .attributes = {{"momentum", rule.momentum},
                         {"trust_coefficient", rule.trust_coefficient},
                         {"epsilon", rule.epsilon},
                         {"adapt", rule.adapt},
                         {"direction_decay", rule.weight_decay},
                         {"weight_decay", 0.0}},
          .name = name};
}

const UpdateSignature lamb_signature{
    .rule = "Lamb", .slots = {{"m", "m"}, {"v", "v"}}, .counted = true, .doc = "One step of LAMB"};
const OpRegistration lamb_def = define_update(lamb_signature), lamb_rows_def = define_rows_update(lamb_signature);

UpdateCall call_of(const Variable& variable, const AdamSlots& slots, const std::vector<Operand>& scalars,
                   const LambUpdate& rule, std::string_view name) {
  return {.variable = variable,
          .slots = {slots.m, slots.v},
          .scalars = scalars,
          .attributes = {{"beta1", rule.beta1},
                         {"beta2", rule.beta2},
                         {"epsilon", rule.epsilon},
                         {"adapt", rule.adapt},
                         {"direction_decay", rule.weight_decay},
                         {"weight_decay", 0.0}},
          .name = name};
}

}  // namespace

Tensor apply_lars(const Variable& variable, const Variable& accumulator, const Operand& learning_rate,
                  const Operand& gradient, const LarsUpdate& rule, std::string_view name) {
  return add_update(lars_def, call_of(variable, accumulator, learning_rate, rule, name), gradient);
}
Tensor apply_lars_rows(const Variable& variable, const Variable& accumulator, const Operand& learning_rate,
                       const SparseRows& gradient, const LarsUpdate& rule, std::string_view name) {
  return add_update(lars_rows_def, call_of(variable, accumulator, learning_rate, rule, name), gradient);
}

Tensor apply_lamb(const Variable& variable, const AdamSlots& slots, const Operand& step, const Operand& learning_rate,
                  const Operand& gradient, const LambUpdate& rule, std::string_view name) {
  return add_update(lamb_def, call_of(variable, slots, {step, learning_rate}, rule, name), gradient);
}
Tensor apply_lamb_rows(const Variable& variable, const AdamSlots& slots, const Operand& step,
                       const Operand& learning_rate, const SparseRows& gradient, const LambUpdate& rule,
                       std::string_view name) {
  return add_update(lamb_rows_def, call_of(variable, slots, {step, learning_rate}, rule, name), gradient);
}

}  // namespace belfry
