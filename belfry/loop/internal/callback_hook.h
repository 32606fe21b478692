// Callbacks as hooks of a session.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "belfry/loop/callback.h"

namespace belfry {

// A name that the graph does not have is looked up where the trainer looks besides: in the main training tower.
Fetch resolved(const Fetch& fetch, const Trainer& trainer);

// One line in the log: whose hook it was that failed, and when. The error itself is thrown on as it is; whoever catches
// it knows nothing of callbacks.
void log_failed_hook(const Callback& callback, std::string_view hook);

// One for each callback: its before_run(), with names resolved, and its after_run().
std::vector<std::shared_ptr<SessionHook>> hooks_of(const Callbacks& callbacks);

}  // namespace belfry
