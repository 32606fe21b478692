#include "belfry/session/hooked_session.h"

#include <algorithm>
#include <exception>
#include <typeinfo>

#include "belfry/base/check.h"
#include "belfry/base/internal/class_name.h"
#include "belfry/base/log.h"
#include "belfry/base/stop_training.h"
#include "belfry/session/internal/hooked_run.h"

namespace belfry {
namespace {

// The step that random ops draw by, from the one hook that counts; the caller's own choice takes precedence.
RunOptions options_of(const AskedRun& asked, const RunOptions& callers) {
  RunOptions out = callers;
  std::size_t counter = 0;  // the party that gave it
  for (std::size_t i = 1; i < asked.parties(); ++i) {
    const std::optional<std::uint64_t> step = asked.requests[i - 1].random_step;
    if (!step) continue;
    if (counter != 0)
      fail("[HookedSession] expected one hook to give the step of random ops, got {} and {}.", asked.name_of(counter),
           asked.name_of(i));
    counter = i;
    if (!callers.random_step) out.random_step = step;
  }
  return out;
}

// Keeps the first error of several hooks for later and logs the others. An error takes precedence over a stop or the
// end of the data, even a later error: a failure must not look like a clean end.
class HookErrors {
 public:
  template <class Action>
  void guard(const SessionHook& hook, const char* method, Action&& action) {
    try {
      action();
    } catch (const std::exception& e) {
      keep(hook, method, e.what(), is_clean_end(e));
    } catch (...) {
      keep(hook, method, "an exception that is not a std::exception", false);
    }
  }

  void rethrow() const {
    if (kept_) std::rethrow_exception(kept_);
  }

 private:
  void keep(const SessionHook& hook, const char* method, std::string_view text, bool clean) {
    if (kept_ == nullptr || (clean_ && !clean)) {
      kept_ = std::current_exception();
      clean_ = clean;
    } else if (clean) {
      log_info(fmt::format("[HookedSession] {} of '{}' wants to stop too: {}", method, hook.name(), text));
    } else {
      log_error(fmt::format("[HookedSession] besides the error that will be thrown, {} of '{}' failed too: {}", method,
                            hook.name(), text));
    }
  }

  std::exception_ptr kept_;
  bool clean_ = false;  // kept_ is a stop or the end of the data
};

}  // namespace

std::string SessionHook::name() const { return class_name(typeid(*this)); }

HookedSession::HookedSession(Session& session, std::vector<std::shared_ptr<SessionHook>> hooks)
    : session_(session), hooks_(std::move(hooks)), runs_(std::make_unique<HookedRuns>()) {
  const bool all_there = std::ranges::none_of(hooks_, [](const auto& hook) { return hook == nullptr; });
  BELFRY_CHECK(all_there, "[HookedSession] expected hooks, got a null pointer among them.");
}

HookedSession::~HookedSession() = default;

std::vector<Array> HookedSession::run(const std::vector<Fetch>& fetches, const Feeds& feeds, const RunOptions& options,
                                      const Location& where) {
  const RunContext context{*this, session_, fetches, feeds, options};
  std::vector<HookRequest> requests(hooks_.size());
  HookErrors before;
  for (std::size_t i = 0; i < hooks_.size(); ++i)
    before.guard(*hooks_[i], "before_run", [&] { requests[i] = hooks_[i]->before_run(context); });
  before.rethrow();

  const AskedRun asked{fetches, feeds, hooks_, requests};
  const RunOptions chosen = options_of(asked, options);
  std::shared_ptr<const HookedRun> run = runs_->find(asked);
  const bool known = run != nullptr;
  if (!known) run = std::make_shared<const HookedRun>(asked, *session_.state_, where);
  const std::vector<Array> values = run->run(asked, chosen, where);
  if (!known) runs_->keep(asked, run, static_cast<std::size_t>(std::max(1, session_.state_->config.plan_cache)));
  last_ = run->plan();

  HookErrors after;
  for (std::size_t i = 0; i < hooks_.size(); ++i)
    after.guard(*hooks_[i], "after_run", [&] { hooks_[i]->after_run(context, run->of(i + 1, values)); });
  after.rethrow();
  return run->of(0, values);
}

std::string HookedSession::explain(const Location& where) const {
  BELFRY_CHECK(has_run(),
               "[HookedSession::explain] expected an earlier run, got none (at {}). Use Session::explain_batch().",
               to_string(where));
  return last_.lock()->explain();
}

Array HookedSession::run(const Fetch& fetch, const Feeds& feeds, const RunOptions& options, const Location& where) {
  return run(std::vector<Fetch>{fetch}, feeds, options, where)[0];
}

}  // namespace belfry
