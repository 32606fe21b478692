// Plan: a run that is ready to execute. Linked from separately compiled parts, so that N towers which each meet M
// shapes need N * M of them, not M^N.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "belfry/engine/backend.h"
#include "belfry/engine/variables.h"

namespace belfry {

class DeviceTeam;
class Plan;

// What programs are compiled for and run on: a session's devices. Outlives the programs.
struct RunTarget {
  Variables& variables;
  CrossingMemory& crossings;  // on the host
  std::vector<DeviceInfo> devices;
  std::vector<Backend*> backends;  // by device; several devices may share one
};
// What compiled parts depend on; grows with every change.
std::uint64_t generation_of(const RunTarget& target);

// If shapes depend on data: what comes after a plan has run, since it is then not the whole run.
class Continuation {
 public:
  virtual ~Continuation() = default;
  // The plan for the sizes that the run has computed. Valid until the next call for the same stage.
  virtual Plan& next() = 0;
  virtual std::string explain() const = 0;  // for people to read
};

// Before this position of a part, this many positions of another part must be done.
struct Wait {
  int position = 0;
  int part = 0, done = 0;
};

class Plan {
 public:
  // Parts in the order of the partition, from number `first` on: all of them, or those of one stage.
  Plan(std::vector<std::shared_ptr<const CompiledPart>> parts, std::size_t first, const Partition& partition,
       std::shared_ptr<RunSlots> slots, const RunTarget& target);
  ~Plan();

  void continue_with(std::unique_ptr<Continuation> rest) { rest_ = std::move(rest); }
  bool continues() const { return rest_ != nullptr; }
  Plan& next() { return rest_->next(); }  // after this one has run

  // The run: feeds and results are given as raw pointers in the order of the signature.
  void run(const Step& step, const std::vector<const void*>& feeds, const std::vector<void*>& results, DeviceTeam& team,
           Profiler* profiler);

  // Plain; in the order of the fetches. Nothing for one that another stage makes.
  const std::vector<std::optional<TensorInfo>>& fetched() const { return fetched_; }
  bool in_parts() const { return in_parts_; }  // the program has several, here or in other stages
  const std::vector<const Node*>& variables() const { return variables_; }  // read by this plan
  const std::vector<const Node*>& assigned() const { return assigned_; }    // written by this plan
  // Whether each of these has a value: the flags themselves, so that a step looks nothing up.
  const std::vector<const bool*>& variables_ready() const { return variables_ready_; }
  const std::vector<bool*>& assigned_ready() const { return assigned_ready_; }
  MemoryUse memory() const;
  std::uint64_t generation() const { return generation_; }
  std::string explain() const;

  const std::vector<std::shared_ptr<const CompiledPart>>& parts() const { return parts_; }
  const std::vector<std::vector<Wait>>& waits() const { return waits_; }  // by part, in the order of its positions

 private:
  class LinkedRun;
  void link(const Partition& partition);
  void collect_variables(Variables& variables);
  void run_stream(int device, const Step& step, Profiler* profiler);
  void run_streams(const Step& step, DeviceTeam& team, Profiler* profiler);
  bool wait_for(const Wait& wait) const;  // false if another stream failed

  std::vector<std::shared_ptr<const CompiledPart>> parts_;
  std::vector<std::vector<int>> streams_;  // by device: parts
  std::vector<std::vector<Wait>> waits_;
  std::vector<std::unique_ptr<LinkedRun>> runs_;  // by part
  std::shared_ptr<RunSlots> slots_;
  std::vector<DeviceInfo> devices_;
  std::vector<Backend*> backends_;  // by device
  std::vector<std::optional<TensorInfo>> fetched_;
  std::vector<const Node*> variables_, assigned_;
  std::vector<const bool*> variables_ready_;
  std::vector<bool*> assigned_ready_;
  // Shared by the streams of a run, without a lock: the atomics. The rest is set before the streams start.
  std::unique_ptr<std::atomic<int>[]> done_;  // by part: how many of its positions are done in this run
  std::atomic<bool> failed_ = false;          // a part threw: streams that wait for another one give up
  MemoryUse memory_{};                        // before the first run
  std::uint64_t generation_ = 0;
  std::size_t first_ = 0;  // the number of its first part
  bool in_parts_ = false;
  std::unique_ptr<Continuation> rest_;  // null for a run's last stage
};

}  // namespace belfry
