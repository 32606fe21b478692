// LARS and LAMB, of whole variables and of rows: a pass for the norms, unless the rate is not adapted, then the update.
#include "belfry/engine/cpu/optimizer/update_kernels.h"

namespace belfry {
namespace {

using Trust = UpdateKernels::Trust;

// Without a direction or without weights there is no ratio: the rate stays.
double ratio_or_one(double weights, double direction, double ratio) { return weights > 0 && direction > 0 ? ratio : 1; }

const UpdateRegistration lars_kernels = define_update_kernels(
    "Lars", {.slots = 1,
             .step =
                 [](const Attributes& a) {
                   const UpdateStep settings{.rule = UpdateRule::lars,
                                             .direction_decay = a.get<double>("direction_decay"),
                                             .momentum = a.get<double>("momentum")};
                   return [settings](const UpdateScalars& now) {
                     UpdateStep step = settings;
                     step.learning_rate = now.learning_rate;
                     return step;
                   };
                 },
             .trust = [](const Attributes& a) -> Trust {
               if (!a.flag("adapt")) return nullptr;
               return [coefficient = a.get<double>("trust_coefficient"), decay = a.get<double>("direction_decay"),
                       epsilon = a.get<double>("epsilon")](double w, double g) {
                 return ratio_or_one(w, g, coefficient * w / (g + decay * w + epsilon));
               };
             }});

const UpdateRegistration lamb_kernels = define_update_kernels(
    "Lamb", {.slots = 2,
             .counted = true,
             .step =
                 [](const Attributes& a) {
                   const AdamSettings settings{.learning_rate = 1,
                                               .beta1 = a.get<double>("beta1"),
                                               .beta2 = a.get<double>("beta2"),
                                               .epsilon = a.get<double>("epsilon")};
                   return [settings, decay = a.get<double>("direction_decay")](const UpdateScalars& now) {
                     UpdateStep step = adam_step(settings, static_cast<std::int64_t>(now.number));
                     step.rule = UpdateRule::lamb;
                     step.first_moment_scale = step.learning_rate;  // 1 / (1 - b1^t)
                     step.learning_rate = now.learning_rate;
                     step.direction_decay = decay;
                     return step;
                   };
                 },
             .trust = [](const Attributes& a) -> Trust {
               if (!a.flag("adapt")) return nullptr;
               return [](double w, double d) { return ratio_or_one(w, d, w / d); };
             }});

}  // namespace
}  // namespace belfry
