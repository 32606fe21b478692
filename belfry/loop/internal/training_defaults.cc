#include "belfry/loop/internal/training_defaults.h"

#include "belfry/base/check.h"

namespace belfry {
namespace {

// Filled before main() begins, like the registry of ops, and only read afterwards.
TrainingDefaults& registered() {
  static TrainingDefaults defaults;
  return defaults;
}

}  // namespace

bool set_training_defaults(TrainingDefaults defaults) {
  BELFRY_BUG_IF(registered().callbacks != nullptr, "the defaults of training are set twice");
  registered() = std::move(defaults);
  return true;
}

const TrainingDefaults& training_defaults() {
  BELFRY_BUG_IF(registered().callbacks == nullptr, "the defaults of training are not set");
  return registered();
}

}  // namespace belfry
