// The boundary between what is the same for every device (above: the IR, partition, shapes, simplification, the order
// of variables' reads and writes, plans and their linking) and what is specific to one kind of device (below:
// engine/cpu and other backends). A backend compiles a part of a run into something that is launched and waited for; it
// owns the memory of its values and variables, and moves arrays in and out. Nothing above knows a layout, an arena or a
// kernel.
//
// docs/architecture.md says what a new one has to implement. Internal to engine.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "belfry/engine/crossing_memory.h"
#include "belfry/engine/data_queue.h"
#include "belfry/engine/explanation.h"
#include "belfry/engine/memory_use.h"
#include "belfry/engine/passes.h"
#include "belfry/engine/precision.h"
#include "belfry/engine/profiler.h"
#include "belfry/engine/step.h"
#include "belfry/engine/variable_memory.h"

namespace belfry {

// Where a run's feeds and results lie on the host; the same for all plans of a program.
struct RunSlots {
  std::vector<const void*> feeds;
  std::vector<void*> results;
};

// What parts of a device leave in its memory for later parts of the same run. Only the backend knows its contents.
class LeftBehind {
 public:
  virtual ~LeftBehind() = default;
  virtual bool equals(const LeftBehind& other) const = 0;  // of the same backend
};

// One part in one run, for the backend that runs it. A part does its work in positions 0, 1, 2, ..., which it numbered
// when it was compiled; a part that does everything at once has one. For one thread at a time.
class PartRun {
 public:
  virtual ~PartRun() = default;
  const Step& step() const { return *step_; }
  Profiler* profiler() const { return profiler_; }  // or null
  // Neither await() nor done() matters: nothing else runs.
  bool alone() const { return alone_; }
  // Call before the work at this position: waits for what it needs from other parts. False if the run has failed
  // elsewhere: the part gives up.
  virtual bool await(int position) = 0;
  // Call when all positions before this one are done, and the values they send are in place.
  virtual void done(int positions) = 0;

 protected:
  const Step* step_ = nullptr;
  Profiler* profiler_ = nullptr;
  bool alone_ = true;
};

// A part, compiled for certain shapes. It knows what it waits for and what others may wait for, but not which parts:
// plans link it.
class CompiledPart {
 public:
  virtual ~CompiledPart() = default;
  // Parts of one device run in the order in which they are launched. launch() may return before the part is done;
  // wait(), called once per launch with the same run, returns when it is, and throws what it threw. A launch that
  // throws is not waited for.
  virtual void launch(PartRun& run) const = 0;
  virtual void wait(PartRun& /*run*/) const {}

  virtual void explain(Explanation& out) const = 0;
  virtual PartMemory memory() const = 0;

  int device = 0;                // of the session
  std::uint64_t generation = 0;  // of the session's variables, crossings and backends when it was compiled
  // "Done at 3" means when positions 0 to 2 are done.
  std::map<int, int> needed_at{};                         // by crossing received: the first position that waits for it
  std::map<int, int> done_at{};                           // by crossing sent
  std::map<const Node*, int> first_write{}, last_read{};  // by variable: the position
  std::map<int, TensorInfo> sent{};                       // by crossing: what it carries (of a shape, its shape)
  std::map<int, TensorInfo> fetched{};                    // by fetch; plain
  std::shared_ptr<const LeftBehind> leaves{};             // when it is done
  // Variables that must have a value before this part runs, and those that have one afterwards.
  std::vector<const Node*> read{}, written{};
  std::set<const Node*> assigned{};  // written as a whole, without being read
};

// A part to compile: shapes are concrete, and it is simplified. Reads and writes of variables are not yet ordered
// (order_variables()).
struct PartRequest {
  Part part;
  const std::vector<Crossing>& crossings;
  RunSlots& slots;                             // outlives the compiled part
  std::shared_ptr<const LeftBehind> before{};  // what lies in the device's memory when the part starts; or null
  bool alone = true;                           // its program has no other part
};

// The devices of one kind in one session.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::unique_ptr<CompiledPart> compile(PartRequest request) = 0;
  // Grows whenever parts compiled before are out of date.
  virtual std::uint64_t generation() const = 0;

  struct Memory {
    std::size_t arena = 0;      // shared by all parts, summed over its devices
    std::size_t crossings = 0;  // between its devices
    std::size_t snapshots = 0;  // of variables, if sessions share them
  };
  virtual Memory memory() const { return {}; }
  // For explain(): lines about all of a plan's parts on this backend.
  virtual std::string explain(const std::vector<const CompiledPart*>& /*parts*/, const MemoryUse& /*use*/) const {
    return "";
  }
  // A warning about the session's configuration, logged when the session is made; empty: none.
  virtual std::string warning() const { return ""; }

  // The algorithms it has chosen by timing, by problem: saved and restored with checkpoints. A backend that does not
  // choose returns none, and refuses those it is given.
  virtual std::map<std::string, std::string> algorithms() const { return {}; }
  virtual bool restore_algorithms(const std::map<std::string, std::string>& /*choices*/) { return false; }
};

// What a backend is made from. Everything in it outlives the backend.
struct BackendSetup {
  VariableMemory& variables;        // made by the same kind
  CrossingMemory& crossings;        // on the host: between devices of different kinds
  std::vector<DeviceInfo> devices;  // all of the session's; a part's device is one of these
  QueueStore* queues = nullptr;
  Precision precision = Precision::f32;
  bool autotune = false;
  std::string autotune_file{};
};

// A kind of device. Registered at namespace scope of a source file:
//
//   const BackendRegistration cpu = register_backend({.kind = "cpu", .make_variables = ..., .make = ...});
struct BackendDef {
  std::string kind;
  bool has_threads = false;  // its devices are teams of the machine's cores (DeviceConfig::threads)
  std::function<std::unique_ptr<VariableMemory>()> make_variables;
  std::function<std::unique_ptr<Backend>(const BackendSetup&)> make;
  std::function<std::map<std::string, std::string>()> versions{};  // of the libraries that it computes with, by name
};
using BackendRegistration = const BackendDef*;
BackendRegistration register_backend(BackendDef def);
const BackendDef& backend_of(const std::string& kind);  // throws, listing the known kinds
std::map<std::string, std::string> backend_versions();  // of all kinds

}  // namespace belfry
