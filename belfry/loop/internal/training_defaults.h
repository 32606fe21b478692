// What train_with_defaults() adds. The loop does not know the concrete callbacks: belfry/launch does, and registers
// them.
#pragma once

#include <functional>
#include <vector>

#include "belfry/loop/callback.h"
#include "belfry/loop/monitors.h"

namespace belfry {

struct TrainingDefaults {
  std::function<Callbacks()> callbacks;
  std::function<std::vector<Handle<Monitor>>()> monitors;
};

// To be called once, in the initialisation of a static object: `const bool registered = set_training_defaults({...});`
bool set_training_defaults(TrainingDefaults defaults);
const TrainingDefaults& training_defaults();

}  // namespace belfry
