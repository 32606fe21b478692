#include "belfry/ops/adaptive_optimizers.h"

#include "belfry/ops/internal/update_op.h"

namespace belfry {
namespace {

const UpdateSlot mean_square{"mean_square", "a mean_square"}, mean_gradient{"mean_gradient", "a mean_gradient"},
    accumulator{"accumulator", "an accumulator"};

// Ops by whether the form is centered and whether it has momentum: each reads no more than its own slots.
const UpdateSignature rmsprop_signatures[2][2]{
    {{.rule = "RmsProp", .slots = {mean_square}, .doc = "One step of RMSProp"},
     {.rule = "RmsPropMomentum", .slots = {mean_square, accumulator}, .doc = "One step of RMSProp with momentum"}},
    {{.rule = "RmsPropCentered", .slots = {mean_square, mean_gradient}, .doc = "One step of centered RMSProp"},
     {.rule = "RmsPropCenteredMomentum",
      .slots = {mean_square, mean_gradient, accumulator},
      .doc = "One step of centered RMSProp with momentum"}}};
const OpRegistration rmsprop_defs[2][2]{
    {define_update(rmsprop_signatures[0][0]), define_update(rmsprop_signatures[0][1])},
    {define_update(rmsprop_signatures[1][0]), define_update(rmsprop_signatures[1][1])}};
const OpRegistration rmsprop_rows_defs[2][2]{
    {define_rows_update(rmsprop_signatures[0][0]), define_rows_update(rmsprop_signatures[0][1])},
    {define_rows_update(rmsprop_signatures[1][0]), define_rows_update(rmsprop_signatures[1][1])}};

bool given(const Variable& slot) { return static_cast<bool>(slot); }

template <class Gradient>
Tensor rmsprop(const OpRegistration (&defs)[2][2], const Variable& variable, const RmsPropSlots& slots,
               const Operand& learning_rate, const Gradient& gradient, const RmsPropUpdate& rule,
               std::string_view name) {
  UpdateCall call{.variable = variable,
                  .slots = {slots.mean_square},
                  .scalars = {learning_rate},
                  .attributes = {{"alpha", rule.alpha},
                                 {"epsilon", rule.epsilon},
                                 {"momentum", rule.momentum},
                                 {"weight_decay", rule.weight_decay}},
                  .name = name};
  if (given(slots.mean_gradient)) call.slots.push_back(slots.mean_gradient);
  if (given(slots.accumulator)) call.slots.push_back(slots.accumulator);
  return add_update(defs[given(slots.mean_gradient)][given(slots.accumulator)], call, gradient);
}

const UpdateSignature adagrad_signature{.rule = "Adagrad", .slots = {{"sum", "a sum"}}, .doc = "One step of Adagrad"};
const OpRegistration adagrad_def = define_update(adagrad_signature),
                     adagrad_rows_def = define_rows_update(adagrad_signature);

UpdateCall call_of(const Variable& variable, const Variable& sum, const Operand& learning_rate,
                   const AdagradUpdate& rule, std::string_view name) {
  return {.variable = variable,
          .slots = {sum},
          .scalars = {learning_rate},
          .attributes = {{"epsilon", rule.epsilon}, {"weight_decay", rule.weight_decay}},
          .name = name};
}

const UpdateSignature adadelta_signature{.rule = "Adadelta",
                                         .slots = {mean_square, {"mean_square_delta", "a mean_square_delta"}},
                                         .doc = "One step of Adadelta"};
const OpRegistration adadelta_def = define_update(adadelta_signature),
                     adadelta_rows_def = define_rows_update(adadelta_signature);

UpdateCall call_of(const Variable& variable, const AdadeltaSlots& slots, const Operand& learning_rate,
                   const AdadeltaUpdate& rule, std::string_view name) {
  return {.variable = variable,
          .slots = {slots.mean_square, slots.mean_square_delta},
          .scalars = {learning_rate},
          .attributes = {{"rho", rule.rho}, {"epsilon", rule.epsilon}, {"weight_decay", rule.weight_decay}},
          .name = name};
}

}  // namespace

Tensor apply_rmsprop(const Variable& variable, const RmsPropSlots& slots, const Operand& learning_rate,
                     const Operand& gradient, const RmsPropUpdate& rule, std::string_view name) {
  return rmsprop(rmsprop_defs, variable, slots, learning_rate, gradient, rule, name);
}
Tensor apply_rmsprop_rows(const Variable& variable, const RmsPropSlots& slots, const Operand& learning_rate,
                          const SparseRows& gradient, const RmsPropUpdate& rule, std::string_view name) {
  return rmsprop(rmsprop_rows_defs, variable, slots, learning_rate, gradient, rule, name);
}

Tensor apply_adagrad(const Variable& variable, const Variable& sum, const Operand& learning_rate,
                     const Operand& gradient, const AdagradUpdate& rule, std::string_view name) {
  return add_update(adagrad_def, call_of(variable, sum, learning_rate, rule, name), gradient);
}
Tensor apply_adagrad_rows(const Variable& variable, const Variable& sum, const Operand& learning_rate,
                          const SparseRows& gradient, const AdagradUpdate& rule, std::string_view name) {
  return add_update(adagrad_rows_def, call_of(variable, sum, learning_rate, rule, name), gradient);
}

Tensor apply_adadelta(const Variable& variable, const AdadeltaSlots& slots, const Operand& learning_rate,
                      const Operand& gradient, const AdadeltaUpdate& rule, std::string_view name) {
  return add_update(adadelta_def, call_of(variable, slots, learning_rate, rule, name), gradient);
}
Tensor apply_adadelta_rows(const Variable& variable, const AdadeltaSlots& slots, const Operand& learning_rate,
                           const SparseRows& gradient, const AdadeltaUpdate& rule, std::string_view name) {
  return add_update(adadelta_rows_def, call_of(variable, slots, learning_rate, rule, name), gradient);
}

}  // namespace belfry
