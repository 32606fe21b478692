// Small callbacks: run an op, call a function.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "belfry/graph/collections.h"
#include "belfry/loop/callback.h"

#pragma GCC visibility push(default)
namespace belfry {

struct RunOpOptions {
  bool before_train = true;      // once, before the loop; not again when the run is continued,
  bool when_continued = false;   // ... unless this says so: for what a checkpoint does not hold
  bool as_trigger = true;        // every trigger(): once per epoch
  bool along_with_step = false;  // in the same run as each step
  bool verbose = false;          // log when it runs separately
};

// Runs an operation or tensor: separately (a run of session(), not a step) or, with along_with_step, in each step.
class RunOp final : public Callback {
 public:
  // For an op that exists already, or has a name; an empty handle throws.
  explicit RunOp(Fetch op, RunOpOptions options = {}, const Location& where = Location::current());
  // For an op that `make` makes, or finds in a model, when setup_graph() calls it.
  explicit RunOp(std::function<Operation()> make, RunOpOptions options = {});

  void setup_graph() override;
  void before_train() override;
  HookRequest before_run(const RunContext&) override;
  void trigger() override;
  bool declares_metrics() const override { return true; }
  bool chief_only() const override { return false; }

 private:
  void run();
  std::function<Operation()> make_;
  std::optional<Fetch> op_;
  RunOpOptions options_;
};

// Runs the UPDATE_OPS of the graph (or what another collection holds) that no train op runs already, in the same run as
// each step. The train ops are the trainer's or, if it overrides run_step(), all ops that wait for an update. A hooked
// run of nothing, like NoOpTrainer's, is not a step.
class RunUpdateOps final : public Callback {
 public:
  explicit RunUpdateOps(std::string collection = std::string(collection::kUpdateOps))
      : collection_(std::move(collection)) {}
  void setup_graph() override;
  HookRequest before_run(const RunContext&) override;
  bool declares_metrics() const override { return true; }
  bool chief_only() const override { return false; }

 private:
  std::string collection_;
  std::vector<Fetch> updates_;
};

// A callback from functions; omitted ones do nothing.
struct CallbackFunctions {
  std::function<void(Trainer&)> setup_graph{}, before_train{}, before_epoch{}, trigger_step{}, after_epoch{},
      trigger_epoch{}, after_train{};
  std::function<void(Trainer&)> resume_epoch{};  // default: before_epoch (see Callback::resume_epoch())
  std::string name = "CallbackFactory";
};
class CallbackFactory final : public Callback {
 public:
  explicit CallbackFactory(CallbackFunctions functions) : functions_(std::move(functions)) {}

  void setup_graph() override { call(functions_.setup_graph); }
  void before_train() override { call(functions_.before_train); }
  void before_epoch() override { call(functions_.before_epoch); }
  void resume_epoch() override { call(functions_.resume_epoch ? functions_.resume_epoch : functions_.before_epoch); }
  void trigger_step() override { call(functions_.trigger_step); }
  void after_epoch() override { call(functions_.after_epoch); }
  void trigger() override { call(functions_.trigger_epoch); }
  void after_train() override { call(functions_.after_train); }
  std::string name() const override { return functions_.name; }

 private:
  void call(const std::function<void(Trainer&)>& f) {
    if (f) f(trainer());
  }
  CallbackFunctions functions_;
};

}  // namespace belfry
#pragma GCC visibility pop
