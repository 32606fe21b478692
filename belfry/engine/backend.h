// The boundary between what is true for every device (above: the IR, partition, shapes, simplification, the order of
// variables' reads and writes, plans and their linking) and what one kind of device does in its own way (below:
// engine/cpu and its like). A backend compiles a part of a run into something that is launched and waited for; it owns
// the memory of its values and variables, and moves arrays in and out. Nothing above knows a layout, an arena or a
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

// What parts of a device leave in its memory for later parts of the same run. Only the backend looks inside.
class LeftBehind {
 public:
  virtual ~LeftBehind() = default;
  virtual bool equals(const LeftBehind& other) const = 0;  // of the same backend
};

// One part in one run, for the backend that runs it. A part does its work in positions 0, 1, 2, ... that it has
// numbered itself when it was compiled; a part that does all at once has one. From any one thread at a time.
class PartRun {
 public:
  virtual ~PartRun() = default;
  const Step& step() const { return *step_; }
  Profiler* profiler() const { return profiler_; }  // or null
  // Neither await() nor done() matters: nothing else runs.
  bool alone() const { return alone_; }
  // Before what is at this position: waits for what it needs of other parts. False if the run has failed elsewhere: the
  // part gives up.
  virtual bool await(int position) = 0;
  // All positions before this one are done, and what they sent is where others look for it.
  virtual void done(int positions) = 0;

 protected:
  const Step* step_ = nullptr;
  Profiler* profiler_ = nullptr;
  bool alone_ = true;
};

// A part, compiled for the shapes that it met. Knows what it waits for and what others may wait for, but not from whom
// or by whom: plans link it.
class CompiledPart {
 public:
  virtual ~CompiledPart() = default;
  // Parts of one device run in the order in which they are launched. launch() may return before the part is done; then
  // wait(), once a launch, returns when it is, and throws what it threw.
  virtual void launch(PartRun& run) const = 0;
  virtual void wait() const {}

  virtual void explain(Explanation& out) const = 0;
  virtual PartMemory memory() const = 0;

  int device = 0;                // of the session
  std::uint64_t generation = 0;  // of the session's variables, crossings and backends when it was compiled
  // "Done at 3" is when positions 0 to 2 are.
  std::map<int, int> needed_at{};                         // by crossing received: the first position that waits for it
  std::map<int, int> done_at{};                           // by crossing sent
  std::map<const Node*, int> first_write{}, last_read{};  // by variable: the position
  std::map<int, TensorInfo> sent{};                       // by crossing: what it carries (of a shape, its shape)
  std::map<int, TensorInfo> fetched{};                    // by fetch; plain
  std::shared_ptr<const LeftBehind> leaves{};             // when it is done
  // Variables that must have a value before this part runs, and those that it leaves with one.
  std::vector<const Node*> read{}, written{};
  std::set<const Node*> assigned{};  // written as a whole, without being read
};

// What is to be compiled: shapes are concrete, and it is simplified. Reads and writes of variables are not yet ordered
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
    std::size_t arena = 0;      // that all parts compute in, summed over its devices
    std::size_t crossings = 0;  // between its devices
    std::size_t snapshots = 0;  // of variables, where sessions share them
  };
  virtual Memory memory() const { return {}; }
  // For explain(): lines that say what is true of all of a plan's parts on this backend.
  virtual std::string explain(const std::vector<const CompiledPart*>& /*parts*/, const MemoryUse& /*use*/) const {
    return "";
  }
  // What whoever configured the session should know: logged when it is made. Empty: nothing.
  virtual std::string warning() const { return ""; }

  // What it has chosen by timing, by problem: saved and restored with a checkpoint. A backend that does not is empty,
  // and says no to what it is given.
  virtual std::map<std::string, std::string> algorithms() const { return {}; }
  virtual bool restore_algorithms(const std::map<std::string, std::string>& /*choices*/) { return false; }
};

// What a backend is made from. All of it outlives the backend.
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
const BackendDef& backend_of(const std::string& kind);  // throws, with the kinds there are
std::map<std::string, std::string> backend_versions();  // of all kinds

}  // namespace belfry
