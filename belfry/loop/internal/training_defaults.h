// What train_with_defaults() adds. The loop does not know the concrete callbacks: whoever does (launch) says which.
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

// Once, as a static object is initialised: `const bool registered = set_training_defaults({...});`
bool set_training_defaults(TrainingDefaults defaults);
const TrainingDefaults& training_defaults();

}  // namespace belfry
