// Callbacks as hooks of a session.
#pragma once

#include <memory>
#include <vector>

#include "belfry/loop/callback.h"

namespace belfry {

// One for each callback: its before_run() and after_run().
std::vector<std::shared_ptr<SessionHook>> hooks_of(const Callbacks& callbacks);

}  // namespace belfry
