// Callbacks as hooks of a session.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "belfry/loop/callback.h"

namespace belfry {

// A name that the graph does not have is also looked up where the trainer looks: in the main training tower.
Fetch resolved(const Fetch& fetch, const Trainer& trainer);

// Logs one line: which callback's hook failed, and when. The error itself is rethrown unchanged, and does not name the
// callback.
void log_failed_hook(const Callback& callback, std::string_view hook);

// One for each callback: its before_run(), with names resolved, and its after_run().
std::vector<std::shared_ptr<SessionHook>> hooks_of(const Callbacks& callbacks);

}  // namespace belfry
