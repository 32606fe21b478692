// SGD, momentum and Adam, of whole variables and of rows. AdamW is Adam with decoupled decay.
#include "belfry/engine/cpu/optimizer/update_kernels.h"

namespace belfry {
namespace {

const UpdateRegistration sgd_kernels =
    define_update_kernels("Sgd", {.slots = 0, .step = [](const Attributes&) {
                                    return [](const UpdateScalars& now) {
                                      return UpdateStep{.rule = UpdateRule::sgd, .learning_rate = now.learning_rate};
                                    };
                                  }});

const UpdateRegistration momentum_kernels = define_update_kernels(
    "Momentum", {.slots = 1, .step = [](const Attributes& a) {
                   const UpdateRule rule = a.flag("nesterov") ? UpdateRule::nesterov : UpdateRule::momentum;
                   return [rule, momentum = a.get<double>("momentum")](const UpdateScalars& now) {
                     return UpdateStep{.rule = rule, .learning_rate = now.learning_rate, .momentum = momentum};
                   };
                 }});

const UpdateRegistration adam_kernels =
    define_update_kernels("Adam", {.slots = 2, .counted = true, .step = [](const Attributes& a) {
                                     const AdamSettings settings{.beta1 = a.get<double>("beta1"),
                                                                 .beta2 = a.get<double>("beta2"),
                                                                 .epsilon = a.get<double>("epsilon")};
                                     return [settings](const UpdateScalars& now) {
                                       AdamSettings all = settings;
                                       all.learning_rate = now.learning_rate;
                                       return adam_step(all, static_cast<std::int64_t>(now.number));
                                     };
                                   }});

}  // namespace
}  // namespace belfry
