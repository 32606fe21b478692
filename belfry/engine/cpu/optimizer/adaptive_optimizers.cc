// RMSProp in its four forms, Adagrad and Adadelta, of whole variables and of rows.
#include "belfry/engine/cpu/optimizer/update_kernels.h"

namespace belfry {
namespace {

UpdateKernels rmsprop(UpdateRule rule, int slots) {
  return {.slots = slots, .step = [rule](const Attributes& a) {
            const UpdateStep settings{.rule = rule,
                                      .momentum = a.get<double>("momentum"),
                                      .beta2 = a.get<double>("alpha"),
                                      .rest2 = 1 - a.get<double>("alpha"),
                                      .epsilon = a.get<double>("epsilon")};
            return [settings](const UpdateScalars& now) {
              UpdateStep step = settings;
              step.learning_rate = now.learning_rate;
              return step;
            };
          }};
}

const UpdateRegistration rmsprop_kernels = define_update_kernels("RmsProp", rmsprop(UpdateRule::rmsprop, 1));
const UpdateRegistration rmsprop_momentum_kernels =
    define_update_kernels("RmsPropMomentum", rmsprop(UpdateRule::rmsprop_momentum, 2));
const UpdateRegistration rmsprop_centered_kernels =
    define_update_kernels("RmsPropCentered", rmsprop(UpdateRule::rmsprop_centered, 2));
const UpdateRegistration rmsprop_centered_momentum_kernels =
    define_update_kernels("RmsPropCenteredMomentum", rmsprop(UpdateRule::rmsprop_centered_momentum, 3));

const UpdateRegistration adagrad_kernels = define_update_kernels(
    "Adagrad", {.slots = 1, .step = [](const Attributes& a) {
                  return [epsilon = a.get<double>("epsilon")](const UpdateScalars& now) {
                    return UpdateStep{
                        .rule = UpdateRule::adagrad, .learning_rate = now.learning_rate, .epsilon = epsilon};
                  };
                }});

const UpdateRegistration adadelta_kernels = define_update_kernels(
    "Adadelta", {.slots = 2, .step = [](const Attributes& a) {
                   return [rho = a.get<double>("rho"), epsilon = a.get<double>("epsilon")](const UpdateScalars& now) {
                     return UpdateStep{.rule = UpdateRule::adadelta,
                                       .learning_rate = now.learning_rate,
                                       .beta2 = rho,
                                       .rest2 = 1 - rho,
                                       .epsilon = epsilon};
                   };
                 }});

}  // namespace
}  // namespace belfry
