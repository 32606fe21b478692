// All optimizers in all their forms, for tests of what each of them must do.
#pragma once

#include <functional>
#include <memory>

#include "tests/nn/nn_test_support.h"

namespace belfry {

struct NamedOptimizer {
  const char* name;
  const char* op;  // "ApplySgd"
  Names state;     // besides a variable "w"
  std::function<std::unique_ptr<Optimizer>()> make;
};

inline std::vector<NamedOptimizer> every_optimizer() {
  return {
      {"Sgd", "ApplySgd", {}, [] { return sgd({.learning_rate = 0.25f, .weight_decay = 0.1}); }},
      {"Momentum",
       "ApplyMomentum",
       {"w/Momentum/accumulator"},
       [] { return momentum({.learning_rate = 0.25f, .weight_decay = 0.1}); }},
      {"MomentumDecoupled",
       "ApplyMomentum",
       {"w/Momentum/accumulator"},
       [] { return momentum({.learning_rate = 0.25f, .nesterov = true, .weight_decay = 0.1, .decoupled = true}); }},
      {"Adam",
       "ApplyAdam",
       {"Adam/step", "w/Adam/m", "w/Adam/v"},
       [] { return adam({.learning_rate = 0.25f, .weight_decay = 0.1}); }},
      {"AdamW",
       "ApplyAdam",
       {"AdamW/step", "w/AdamW/m", "w/AdamW/v"},
       [] { return adamw({.learning_rate = 0.25f, .weight_decay = 0.1}); }},
      {"RmsProp",
       "ApplyRmsProp",
       {"w/RMSProp/mean_square"},
       [] { return rmsprop({.learning_rate = 0.25f, .weight_decay = 0.1}); }},
      {"RmsPropMomentum",
       "ApplyRmsPropMomentum",
       {"w/RMSProp/mean_square", "w/RMSProp/accumulator"},
       [] { return rmsprop({.learning_rate = 0.25f, .momentum = 0.5}); }},
      {"RmsPropCentered",
       "ApplyRmsPropCentered",
       {"w/RMSProp/mean_square", "w/RMSProp/mean_gradient"},
       [] { return rmsprop({.learning_rate = 0.25f, .centered = true}); }},
      {"RmsPropCenteredMomentum",
       "ApplyRmsPropCenteredMomentum",
       {"w/RMSProp/mean_square", "w/RMSProp/mean_gradient", "w/RMSProp/accumulator"},
       [] { return rmsprop({.learning_rate = 0.25f, .momentum = 0.5, .centered = true, .weight_decay = 0.1}); }},
      {"Adagrad",
       "ApplyAdagrad",
       {"w/Adagrad/sum"},
       [] { return adagrad({.learning_rate = 0.25f, .initial_accumulator_value = 0.5, .weight_decay = 0.1}); }},
      {"AdagradWithDecayingRate",
       "ApplyAdagrad",
       {"Adagrad/step", "w/Adagrad/sum"},
       [] { return adagrad({.learning_rate = 0.25f, .lr_decay = 0.5}); }},
      {"Adadelta",
       "ApplyAdadelta",
       {"w/Adadelta/mean_square", "w/Adadelta/mean_square_delta"},
       [] { return adadelta({.weight_decay = 0.1}); }},
      {"Lars",
       "ApplyLars",
       {"w/LARS/accumulator"},
       [] { return lars({.learning_rate = 0.25f, .trust_coefficient = 0.5, .weight_decay = 0.1}); }},
      {"Lamb",
       "ApplyLamb",
       {"LAMB/step", "w/LAMB/m", "w/LAMB/v"},
       [] { return lamb({.learning_rate = 0.25f, .weight_decay = 0.1}); }},
  };
}

// A test for each of them: INSTANTIATE_TEST_SUITE_P(All, X, testing::ValuesIn(every_optimizer()), optimizer_name).
inline std::string optimizer_name(const testing::TestParamInfo<NamedOptimizer>& info) { return info.param.name; }
inline void PrintTo(const NamedOptimizer& optimizer, std::ostream* out) { *out << optimizer.name; }

}  // namespace belfry
