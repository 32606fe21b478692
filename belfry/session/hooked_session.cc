#include "belfry/session/hooked_session.h"

#include <algorithm>
#include <exception>
#include <typeinfo>

#include "belfry/base/check.h"
#include "belfry/base/class_name.h"
#include "belfry/base/log.h"
#include "belfry/base/stop_training.h"
#include "belfry/graph/graph.h"
#include "belfry/session/internal/session_state.h"

namespace belfry {
namespace {

using Places = std::vector<std::size_t>;  // of one party's fetches among those of the merged run

// The fetches and feeds of several parties as those of one run.
class MergedRun {
 public:
  MergedRun(const Graph& graph, const Location& where) : graph_(graph), where_(where) {}

  // `hook` is null for the caller's own; its name is looked up only if there is something to complain about.
  Places add_fetches(const std::vector<Fetch>& fetches, const SessionHook* hook) {
    Places places;
    for (const Fetch& fetch : fetches) {
      const FetchTarget target = fetch.name().empty() ? FetchTarget{fetch.tensor(), fetch.operation()}
                                                      : target_of(fetch, graph_, caller_of(hook));
      const auto at = std::ranges::find(targets_, target);
      places.push_back(static_cast<std::size_t>(at - targets_.begin()));
      if (at == targets_.end()) targets_.push_back(target);
    }
    return places;
  }

  void add_feeds(const Feeds& feeds, const SessionHook* party) {
    for (const auto& feed : feeds) {
      const auto at = std::ranges::find(feeds_, feed.first, &Feeds::value_type::first);
      if (at != feeds_.end()) {
        const SessionHook* other = feeders_[static_cast<std::size_t>(at - feeds_.begin())];
        fail(
            "[HookedSession] expected each tensor to be fed once in a run, got {} from {} and from {}. Feed it in one "
            "of the two.",
            feed.first ? fmt::format("'{}'", feed.first.name()) : "an empty handle", name_of(other), name_of(party));
      }
      feeds_.push_back(feed);
      feeders_.push_back(party);
    }
  }

  // The caller's own choice was there first and stays.
  void add_random_step(std::optional<std::uint64_t> step, const SessionHook* hook) {
    if (!step) return;
    if (counter_ != nullptr)
      fail("[HookedSession] expected one hook to give the step of random ops, got {} and {}.", name_of(counter_),
           name_of(hook));
    counter_ = hook;
    if (!options_.random_step) options_.random_step = step;
  }

  void set_options(const RunOptions& options) { options_ = options; }

  std::vector<Array> run(Session& session) const {
    std::vector<Fetch> fetches;
    for (const FetchTarget& target : targets_)
      fetches.push_back(target.operation ? Fetch(target.operation) : Fetch(target.tensor));
    return session.run(fetches, feeds_, options_, where_);
  }

 private:
  static std::string name_of(const SessionHook* party) {
    return party == nullptr ? "the caller" : fmt::format("hook '{}'", party->name());
  }
  Caller caller_of(const SessionHook* hook) const {
    return {"HookedSession::run", where_, hook == nullptr ? "" : name_of(hook)};
  }

  const Graph& graph_;
  const Location where_;              // the call of run()
  std::vector<FetchTarget> targets_;  // each once
  Feeds feeds_;
  std::vector<const SessionHook*> feeders_;  // who gave feeds_[i]; null: the caller
  RunOptions options_;
  const SessionHook* counter_ = nullptr;  // the hook that gave the random step
};

// Keeps the first error of several hooks for later and logs the others. An error comes before a stop or the end of the
// data, whichever was first: nothing that has failed looks like a clean end.
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
      log_info(fmt::format("[HookedSession] {} of '{}' wants to end as well: {}", method, hook.name(), text));
    } else {
      log_error(fmt::format("[HookedSession] after an error that is thrown, {} of '{}' failed as well: {}", method,
                            hook.name(), text));
    }
  }

  std::exception_ptr kept_;
  bool clean_ = false;  // kept_ is a stop or the end of the data
};

std::vector<Array> values_at(const Places& places, const std::vector<Array>& values) {
  std::vector<Array> out;
  for (const std::size_t place : places) out.push_back(values[place]);
  return out;
}

}  // namespace

std::string SessionHook::name() const { return class_name(typeid(*this)); }

HookedSession::HookedSession(Session& session, std::vector<std::shared_ptr<SessionHook>> hooks)
    : session_(session), hooks_(std::move(hooks)) {
  const bool all_there = std::ranges::none_of(hooks_, [](const auto& hook) { return hook == nullptr; });
  BELFRY_CHECK(all_there, "[HookedSession] expected hooks, got a null pointer among them.");
}

std::vector<Array> HookedSession::run(const std::vector<Fetch>& fetches, const Feeds& feeds, const RunOptions& options,
                                      const Location& where) {
  const RunContext context{*this, session_, fetches, feeds, options};
  std::vector<HookRequest> requests(hooks_.size());
  HookErrors before;
  for (std::size_t i = 0; i < hooks_.size(); ++i)
    before.guard(*hooks_[i], "before_run", [&] { requests[i] = hooks_[i]->before_run(context); });
  before.rethrow();

  MergedRun merged(session_.graph(), where);
  merged.set_options(options);
  merged.add_feeds(feeds, nullptr);
  const Places asked = merged.add_fetches(fetches, nullptr);
  std::vector<Places> wanted;  // by hook
  for (std::size_t i = 0; i < hooks_.size(); ++i) {
    merged.add_feeds(requests[i].feeds, hooks_[i].get());
    merged.add_random_step(requests[i].random_step, hooks_[i].get());
    wanted.push_back(merged.add_fetches(requests[i].fetches, hooks_[i].get()));
  }
  const std::vector<Array> values = merged.run(session_);
  last_ = session_.state_->last_run;

  HookErrors after;
  for (std::size_t i = 0; i < hooks_.size(); ++i)
    after.guard(*hooks_[i], "after_run", [&] { hooks_[i]->after_run(context, values_at(wanted[i], values)); });
  after.rethrow();
  return values_at(asked, values);
}

std::string HookedSession::explain(const Location& where) const {
  BELFRY_CHECK(has_run(),
               "[HookedSession::explain] expected a run before, got none (at {}). Use Session::explain_batch().",
               to_string(where));
  return last_.lock()->explain();
}

Array HookedSession::run(const Fetch& fetch, const Feeds& feeds, const RunOptions& options, const Location& where) {
  return run(std::vector<Fetch>{fetch}, feeds, options, where)[0];
}

}  // namespace belfry
