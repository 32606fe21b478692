// Session: the run phase. Owns the values of a graph's variables, compiles what is asked of it once, and runs it. One
// thread at a time may use a session (a call while another thread's is running is an error); different sessions may run
// at the same time.
//
//   Session session(graph);
//   session.initialize();
//   Array loss = session.run(cost, {{image, batch[0]}, {label, batch[1]}});
//
// companion() makes a further session with the same variables and queues, for another thread.
//
// Errors name the line of the call (`where`).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "belfry/array/array.h"
#include "belfry/engine/data_queue.h"
#include "belfry/engine/precision.h"
#include "belfry/graph/device.h"
#include "belfry/graph/tensor.h"
#include "belfry/graph/variable.h"
#include "belfry/ops/queue.h"
#include "belfry/session/callable.h"

#pragma GCC visibility push(default)
namespace belfry {

struct [[gnu::visibility("hidden")]] SessionState;
class GateAlone;

// A device of the session. Those of a kind are numbered in the order in which they are listed: cpu:0, cpu:1, ...
struct DeviceConfig {
  // 0: an equal share of the cores. Several devices together may not have more than there are cores; a single one may,
  // though it gains nothing from it.
  int threads = 0;
  std::string kind = "cpu";
  bool operator==(const DeviceConfig&) const = default;
};

// Times the algorithms that a convolution or matrix product can use, when it is first compiled, instead of following
// the fixed rule. Choices are kept in a file, so that later programs on this machine make the same choices, and in
// checkpoints.
struct AutotuneConfig {
  bool enabled = false;
  // Empty: one for each kind of machine (CPU model, instruction set, oneDNN version, cores) in $XDG_CACHE_HOME/belfry
  // or ~/.cache/belfry. A file that is damaged or from another machine is replaced, with a warning.
  std::string file{};
};

struct SessionConfig {
  std::vector<DeviceConfig> devices{{}};  // CPU devices are disjoint teams of threads
  // Plans kept; the least recently used goes first. With several devices, also how many versions of each of a plan's
  // parts are kept, for shapes that recur in other combinations.
  int plan_cache = 32;
  bool profile = false;  // record every instruction (see write_trace)
  AutotuneConfig autotune{};
  // Of matrix products and convolutions (see precision.h). Variables, their updates and all else keep their own types,
  // so checkpoints are the same.
  Precision precision = Precision::f32;

  // Not inline: g++ 12 at -O3 otherwise warns (-Wmaybe-uninitialized) about a TrainConfig that is written with two
  // callbacks and a session_config, because it loses track of which members are there if an initialiser throws.
  ~SessionConfig();
};

// What to compute: a tensor (by handle or name), a variable's value, or an operation run for its effect.
class Fetch {
 public:
  Fetch(const Tensor& tensor) : tensor_(tensor) {}                // NOLINT(google-explicit-constructor)
  Fetch(const Variable& variable) : tensor_(variable.value()) {}  // NOLINT(google-explicit-constructor)
  Fetch(const Operation& operation) : operation_(operation) {}    // NOLINT(google-explicit-constructor)
  Fetch(std::string name) : name_(std::move(name)) {}             // NOLINT(google-explicit-constructor)
  Fetch(const char* name) : name_(name) {}                        // NOLINT(google-explicit-constructor)
  const Tensor& tensor() const { return tensor_; }
  const Operation& operation() const { return operation_; }
  const std::string& name() const { return name_; }
  bool operator==(const Fetch&) const = default;  // spelled alike

 private:
  Tensor tensor_;
  Operation operation_;
  std::string name_;
};

using Feeds = std::vector<std::pair<Tensor, Array>>;

struct ProfileTotal {
  std::string op;
  double seconds = 0;
  bool in_library = false;  // spent in a library that the device computes with: on a CPU, oneDNN
};

// How many bytes a session holds, and for what. Arrays that a run fetches or is fed belong to the caller.
struct SessionMemory {
  std::size_t arena = 0;      // activations, gradients and scratch memory: the largest plan's on each device, summed
  std::size_t crossings = 0;  // values on their way from one device to another
  std::size_t kernels = 0;    // what kernels hold themselves: branches, loops, copies of feeds that are not aligned
  std::size_t constants = 0;
  std::size_t variables = 0, copies = 0;  // copies: in a second layout, for gradients of convolutions
  std::size_t snapshots = 0;              // of variables, if the session is or has a companion
  std::size_t total() const { return arena + crossings + kernels + constants + variables + copies + snapshots; }
};

class Session {
 public:
  explicit Session(Graph& graph, SessionConfig config = {}, const Location& where = Location::current());
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  Graph& graph();
  std::vector<std::string> device_texts() const;  // for people: "cpu:0 (2 threads)"
  // Gives every variable its initial value (those that have one already keep it, unless `again`).
  void initialize(bool again = false, const Location& where = Location::current());

  // The values of the fetched tensors in the order asked for; an operation gives no value (an empty Array). A tensor
  // asked for twice is given twice; one fed twice is an error.
  //
  // A run that throws while it executes may have done some of its assignments and not others; each variable is whole,
  // with its old value or its new one (unless a user's kernel throws while it writes one), and the session stays
  // usable. To continue from there, restore a checkpoint, or make what may fail run before the assignments:
  // ControlDependencies({check_numerics(cost, "cost")}) around the update.
  std::vector<Array> run(const std::vector<Fetch>& fetches, const Feeds& feeds = {}, const RunOptions& options = {},
                         const Location& where = Location::current());
  std::vector<Array> run(std::initializer_list<Fetch> fetches, const Feeds& feeds = {}, const RunOptions& options = {},
                         const Location& where = Location::current()) {
    return run(std::vector<Fetch>(fetches), feeds, options, where);
  }
  Array run(const Fetch& fetch, const Feeds& feeds = {}, const RunOptions& options = {},
            const Location& where = Location::current());

  // The same for fixed fetches and feeds, for loops: see callable.h. Throws already if feeds are missing.
  Callable make_callable(const std::vector<Fetch>& fetches, const std::vector<Tensor>& feeds = {},
                         const Location& where = Location::current());

  // A copy; throws, with the variable's name, if it has no value yet.
  Array value(const Variable& variable, const Location& where = Location::current()) const;
  void set_value(const Variable& variable, const Array& value, const Location& where = Location::current());
  bool is_initialized(const Variable& variable) const;

  // The queue as the runs of this session use it; any thread may ask for it and fill it (see data_queue.h). The session
  // cancels it when it is destroyed.
  std::shared_ptr<DataQueue> queue(const PointStore& queue, const Location& where = Location::current()) const;

  // The queues, each once, that a run of these tensors would take points from.
  std::vector<std::shared_ptr<DataQueue>> queues_of(const Tensors& tensors,
                                                    const Location& where = Location::current()) const;

  // The state that came with the point that the last run took for this dequeue() or get(); null if it took none.
  std::shared_ptr<const void> taken_state(const Tensor& taken, const Location& where = Location::current()) const;

  // A session of the same graph with the same variables and queues, for another thread that runs it at the same time,
  // computing on as many threads as `device` has; everything else is as configured here. No run sees or overwrites half
  // of another's update of a variable: it computes with the whole value that the variable had when the run started, and
  // applies its update to the value that the others have made of it by then. How the updates of different variables
  // interleave is unspecified. Call it while no run is active; companions must be destroyed before the session that
  // made them.
  std::unique_ptr<Session> companion(const Device& device = {}, const Location& where = Location::current());
  // From any thread: a run that waits for a point, or for its turn among companions, and every later run throw
  // Cancelled. So does anything else in the session that waits for such a turn.
  void cancel();
  // From any thread: makes one run throw Cancelled while it waits for a point, the one that waits now or the next that
  // would; a run that has its points is not affected. forget_interrupt() takes back an interrupt that has had no effect
  // yet.
  void interrupt();
  void forget_interrupt();

  // The counter of runs without RunOptions::random_step; saved and restored with a checkpoint.
  void set_random_counter(std::uint64_t count);
  std::uint64_t random_counter() const;

  // What autotune has chosen for the plans of this session, by problem; empty without autotune. Saved and restored with
  // a checkpoint: what is set here takes precedence over the file; a session without autotune only warns that it does
  // not use it.
  std::map<std::string, std::string> algorithms() const;
  void set_algorithms(const std::map<std::string, std::string>& choices);

  // How many plans are kept (at most SessionConfig::plan_cache; the least recently used goes first).
  int cached_plans() const;
  // The plan of these fetches as text: instructions, fused groups, layouts, reorders, memory, flops, bytes.
  std::string explain(const std::vector<Fetch>& fetches, const Feeds& feeds = {},
                      const Location& where = Location::current());
  // The same without feeds and without taking points: where the first dimension of an input is unknown, it is taken to
  // be `batch`.
  std::string explain_batch(const std::vector<Fetch>& fetches, std::int64_t batch,
                            const Location& where = Location::current());
  // All that the session holds now: memory that plans have needed so far is kept for later ones.
  SessionMemory memory() const;
  // The part of it that steps compute in: arena, crossings and kernels.
  std::size_t arena_bytes() const;
  // Time by op since the start or the last clear_profile(), largest first (needs SessionConfig::profile).
  std::vector<ProfileTotal> profile_totals() const;
  void clear_profile();
  // What the profiler recorded, as Chrome-trace JSON (needs SessionConfig::profile).
  void write_trace(const std::string& path) const;

 private:
  friend class HookedSession;
  friend class SessionAlone;
  friend class CompanionsRest;
  explicit Session(std::unique_ptr<SessionState> state);
  std::unique_ptr<SessionState> state_;
};

// While it lives, only this thread runs the session and its companions: the constructor waits for active runs, and runs
// that other threads start wait until it is destroyed. Costs nothing without companions. May be nested.
class SessionAlone {
 public:
  explicit SessionAlone(Session& session, const Location& where = Location::current());
  ~SessionAlone();
  SessionAlone(const SessionAlone&) = delete;
  SessionAlone& operator=(const SessionAlone&) = delete;

 private:
  std::unique_ptr<GateAlone> alone_;
};

// While it lives, no companion of the session runs: the constructor waits for active runs, but not for one that waits
// for a point. Any thread may use the session itself. Not to be created within a SessionAlone, which runs may be
// waiting for.
class CompanionsRest {
 public:
  explicit CompanionsRest(Session& session, const Location& where = Location::current());
  ~CompanionsRest();
  CompanionsRest(const CompanionsRest&) = delete;
  CompanionsRest& operator=(const CompanionsRest&) = delete;

 private:
  std::unique_ptr<GateAlone> alone_;
};

}  // namespace belfry
#pragma GCC visibility pop
