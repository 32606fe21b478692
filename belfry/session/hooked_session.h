// HookedSession: a session with hooks that take part in every run. Each hook adds fetches and feeds to the SAME step
// (one executable, inputs taken once) and gets the values of what it asked for.
//
//   class LossLogger final : public SessionHook {
//     HookRequest before_run(const RunContext&) override { return {.fetches = {"cost"}}; }
//     void after_run(const RunContext&, const RunValues& values) override { print(values[0].item()); }
//   };
//
//   HookedSession hooked(session, {std::make_shared<LossLogger>()});
//   while (!hooked.should_stop()) hooked.run(train_op);
//
// It only runs hooks: it does not count steps and never stops by itself.
#pragma once

#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "belfry/session/session.h"

#pragma GCC visibility push(default)
namespace belfry {

class [[gnu::visibility("hidden")]] HookedRuns;
class HookedSession;

// The run that a hook takes part in; valid during the call only. A hook that computes something in a separate run uses
// `session`: `hooked.run` would call the hooks again.
struct RunContext {
  HookedSession& hooked;
  Session& session;
  const std::vector<Fetch>& fetches;  // what the caller asked for and fed, without the hooks' additions
  const Feeds& feeds;
  const RunOptions& options;
};

// What a hook adds to a run.
struct HookRequest {
  std::vector<Fetch> fetches{};
  Feeds feeds{};
  // The step that random ops draw by, from the one hook that counts steps. The caller's RunOptions take precedence.
  std::optional<std::uint64_t> random_step{};
};

// The values of HookRequest::fetches, in that order; an operation gives an empty Array. Parties that ask for the same
// thing share its memory: clone() an array before changing it.
using RunValues = std::vector<Array>;

class SessionHook {
 public:
  virtual ~SessionHook() = default;
  virtual HookRequest before_run(const RunContext&) { return {}; }
  // Only after a run that succeeded.
  virtual void after_run(const RunContext&, const RunValues&) {}
  virtual std::string name() const;  // for error texts; default: the class's
};

class HookedSession {
 public:
  explicit HookedSession(Session& session, std::vector<std::shared_ptr<SessionHook>> hooks = {});
  ~HookedSession();
  HookedSession(const HookedSession&) = delete;
  HookedSession& operator=(const HookedSession&) = delete;

  // Calls every hook's before_run, in order; runs once; calls every hook's after_run, in the same order. Returns the
  // caller's values. If a before_run throws, the others are still called, and nothing runs; if an after_run throws, the
  // others are still called. Then the first error is thrown, and further ones have been logged; a StopTraining or
  // EndOfData is thrown only if there is no error.
  //
  // A tensor that two parties feed is an error that names both. One thread at a time.
  //
  // A run that repeats an earlier one, with the same fetches and feeds from each party, is found by their handles,
  // without other lookups: what is fetched in every step is best given as a tensor, not by name. As many are kept as
  // plans (SessionConfig::plan_cache).
  std::vector<Array> run(const std::vector<Fetch>& fetches, const Feeds& feeds = {}, const RunOptions& options = {},
                         const Location& where = Location::current());
  Array run(const Fetch& fetch, const Feeds& feeds = {}, const RunOptions& options = {},
            const Location& where = Location::current());
  // For braces: run({a}) and run({}) are lists.
  std::vector<Array> run(std::initializer_list<Fetch> fetches, const Feeds& feeds = {}, const RunOptions& options = {},
                         const Location& where = Location::current()) {
    return run(std::vector<Fetch>(fetches), feeds, options, where);
  }

  Session& session() { return session_; }

  bool has_run() const { return !last_.expired(); }  // and the plan is still kept
  // The plan of the last run, with what hooks added to it, as Session::explain() prints one.
  std::string explain(const Location& where = Location::current()) const;

  // A flag for the loop that calls run(); may be set by any thread. run() itself ignores it.
  void request_stop() { should_stop_ = true; }
  bool should_stop() const { return should_stop_; }

 private:
  Session& session_;
  std::vector<std::shared_ptr<SessionHook>> hooks_;
  std::unique_ptr<HookedRuns> runs_;
  std::weak_ptr<const Plan> last_;
  std::atomic<bool> should_stop_ = false;
};

}  // namespace belfry
#pragma GCC visibility pop
