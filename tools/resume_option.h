// The option --resume of the examples.
#pragma once

#include <string>

#include "belfry/session/session_init.h"

namespace belfry::tools {

// For a TrainConfig or TrainOptions. `how` is auto (the run in its directory goes on, if there is one), never, or a
// checkpoint or the directory of a run to go on from.
template <class Config>
void resume(Config& config, const std::string& how) {
  config.auto_resume = how == "auto";
  if (how != "auto" && how != "never") config.session_init = ContinueRun(how);
}

}  // namespace belfry::tools
