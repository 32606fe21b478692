// What a session keeps, for session.cc and callable.cc: the graph's variables, the devices, the plans.
#pragma once

#include <atomic>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "belfry/base/function_ref.h"
#include "belfry/base/internal/gate.h"
#include "belfry/base/internal/spin_control.h"
#include "belfry/engine/data_queue.h"
#include "belfry/engine/device_team.h"
#include "belfry/engine/program.h"
#include "belfry/engine/variables.h"
#include "belfry/session/session.h"

namespace belfry {

// Who asks for something, for error texts: "[Session::run] ... (called at train.cc:42)".
struct Caller {
  const char* name = "";
  Location where{};
  std::string party{};          // the hook that asked, if it was one
  const char* done = "called";  // what was done at `where`
};
std::string called_at(const Caller& caller);

// What a fetch means, however it was spelled: a tensor or an operation.
struct FetchTarget {
  Tensor tensor{};
  Operation operation{};
  bool operator==(const FetchTarget&) const = default;
};
FetchTarget target_of(const Fetch& fetch, const Graph& graph, const Caller& caller);

// Which thread is using a session: nullptr, or an address that identifies the thread.
using SessionUser = std::atomic<const void*>;

// Marks a session as in use while it lives; throws if it already is. One atomic exchange, no lock: nobody waits.
class SessionUse {
 public:
  SessionUse(SessionUser& user, const Caller& caller);
  ~SessionUse() { user_.store(nullptr, std::memory_order_release); }
  SessionUse(const SessionUse&) = delete;
  SessionUse& operator=(const SessionUse&) = delete;

 private:
  SessionUser& user_;
};

// Datapoints that a run takes from queues before it starts.
struct Takes {
  std::vector<const Node*> nodes{};  // "QueueTake"s, in the order of creation
  std::vector<Tensor> tensors{};     // their outputs, without those that are fed
};

// What a session and its companions have in common.
struct SessionCommons {
  explicit SessionCommons(const SessionConfig& config)
      : variables(config.devices.empty() ? "cpu" : config.devices[0].kind) {}
  Variables variables;
  std::shared_ptr<DataQueues> queues = std::make_shared<DataQueues>();
  // Runs of companions are inside at the same time. A thread is alone in it to make the others wait, or to compile
  // something that changes a variable's layout.
  Gate gate;
  // Runs of companions, but not those of the session that made them, enter this one too, before the other. A thread is
  // alone in it to make companions rest.
  Gate companions;
  Mutex compiling;                   // one at a time; locked inside the gates
  std::atomic<bool> shared = false;  // there is more than one session
};

struct SessionState {
  SessionState(Graph& graph, const SessionConfig& config, std::shared_ptr<SessionCommons> commons,
               const Caller& caller);

  // Splits fetches into tensors and operations; `places` says where each tensor's value is among the former, or kNone.
  // Throws unless all belong to the session's graph and no tensor is fed twice.
  Signature signature(const std::vector<Fetch>& fetches, const std::vector<Tensor>& feeds, const Caller& caller,
                      std::vector<int>* places) const;
  void check_feed(const Tensor& tensor, const Array& value, const Caller& caller) const;
  void check_variable(const Variable& variable, const Caller& caller) const;
  // Throws unless the handle belongs to the session's graph: "expected {what} of the session's graph".
  void check_own(const Operation& handle, std::string_view what, const Caller& caller) const;

  // The points that such a run has to take.
  const Takes& takes_of(const Signature& signature);
  // Takes them, waiting if necessary; appends a value for each of the tensors. Throws if a queue is refused.
  void take(const Signature& signature, const Takes& takes, TakenPoints& points, std::vector<Array>& values,
            const Caller& caller);

  // Errors of the next three functions name the caller's line.
  std::shared_ptr<Plan> plan_for(const Signature& signature, const Caller& caller);
  // Checks what does not depend on the feeds' shapes: that no feed is missing, and that assignments are ordered.
  void check_complete(const Signature& signature, const Caller& caller);
  // `step` is the one that random ops draw by: by default the next of the session's own sequence.
  // `points` are used up once only the run itself can fail; where shapes follow from data, stages after the first can
  // still fail because of theirs. Results of such shapes get their place from `late`. Returns false, having done
  // nothing, if a companion has made the plan out of date: get another one.
  using LateResults = FunctionRef<void*(std::size_t fetch, const TensorInfo& info)>;
  bool execute(Plan& plan, std::optional<std::uint64_t> step, const std::vector<const void*>& feeds,
               std::vector<void*>& results, LateResults late, TakenPoints& points, const Caller& caller);
  // Null without companions.
  Gate* gate() const { return commons->shared ? &commons->gate : nullptr; }
  // Null unless this session is a companion.
  Gate* companions_gate() const { return is_companion ? &commons->companions : nullptr; }
  void check_not_cancelled(const Caller& caller) const;
  void forget_interrupt();

  // What bound pointers depend on; a plan of another generation is out of date.
  std::uint64_t generation() const { return generation_of(target); }

  using RunKey =
      std::vector<std::int64_t>;  // identifies a run; not a text, which would have to be formatted for each run
  struct Known {
    RunKey key;
    std::shared_ptr<Program> program;
  };
  struct Cached {
    RunKey key;
    std::shared_ptr<Plan> plan;
  };

  SessionUser user = nullptr;
  // Only the user's thread uses these, so none has a lock. (The team and the profiler have their own.)
  Graph& graph;
  SessionConfig config;
  DeviceTeam team;
  std::shared_ptr<SessionCommons> commons;
  bool is_companion = false;
  Variables& variables;  // the commons'
  CrossingMemory crossings;
  QueueStore queues;
  std::map<std::string, std::unique_ptr<Backend>> backends;  // by kind of device
  RunTarget target;
  std::list<Cached> cache;    // most recently used first
  std::list<Known> programs;  // most recently used first
  std::unique_ptr<Profiler> profiler;
  std::uint64_t random_counter = 0;
  SpinControl spins;
  std::atomic<bool> cancelled = false;
  std::atomic<bool> give_up_waiting = false;  // for points: interrupted (once), or cancelled

 private:
  struct KnownTakes {
    RunKey key;
    Takes takes;
  };
  std::list<KnownTakes> takes_;  // most recently used first

  Program& program_for(const Signature& signature);
  std::shared_ptr<Plan> compile(const Signature& signature, const Caller& caller);
  std::size_t plans_kept() const { return static_cast<std::size_t>(config.plan_cache > 0 ? config.plan_cache : 1); }
  void check_initialized(const Plan& plan, const Caller& caller) const;
  bool execute_inside(Plan& plan, std::optional<std::uint64_t> step, const std::vector<const void*>& feeds,
                      std::vector<void*>& results, LateResults late, TakenPoints& points, const Caller& caller);
  void run_stage(Plan& plan, const Step& step, const std::vector<const void*>& feeds, const std::vector<void*>& results,
                 const Caller& caller);
};

}  // namespace belfry
