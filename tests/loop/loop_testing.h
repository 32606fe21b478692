// What tests of the loop share: a callback that writes down what is called, and callbacks at one place of the loop.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "belfry/loop/run_op.h"
#include "belfry/loop/trainer.h"
#include "tests/session/session_testing.h"

namespace belfry::testing_support {

using Calls = std::vector<std::string>;

// Writes down what is called, with the counters of that moment: "after_run epoch 1 global 1 local 0 iteration 0".
class Recorder final : public Callback {
 public:
  explicit Recorder(Calls& calls, std::string prefix = "") : calls_(&calls), prefix_(std::move(prefix)) {}
  void setup_graph() override { record("setup_graph"); }
  void before_train() override { record("before_train"); }
  void before_epoch() override { record("before_epoch"); }
  HookRequest before_run(const RunContext&) override {
    record("before_run");
    return {};
  }
  void after_run(const RunContext&, const RunValues&) override { record("after_run"); }
  void trigger_step() override { record("trigger_step"); }
  void after_epoch() override { record("after_epoch"); }
  void trigger_epoch() override { record("trigger_epoch"); }
  void after_train() override { record("after_train"); }

 private:
  void record(const std::string& what) {
    const Trainer& t = trainer();
    calls_->push_back(prefix_ + what + " epoch " + std::to_string(t.epoch_num()) + " global " +
                      std::to_string(t.global_step()) + " local " + std::to_string(t.local_step()) + " iteration " +
                      std::to_string(t.iteration()));
  }
  Calls* calls_;
  std::string prefix_;
};

// A callback that does one thing at one place.
inline CallbackFactory at(const char* when, std::function<void(Trainer&)> f) {
  CallbackFunctions functions{.name = std::string("at ") + when};
  const std::string name = when;
  (name == "before_train"    ? functions.before_train
   : name == "before_epoch"  ? functions.before_epoch
   : name == "trigger_step"  ? functions.trigger_step
   : name == "after_epoch"   ? functions.after_epoch
   : name == "trigger_epoch" ? functions.trigger_epoch
                             : functions.after_train) = std::move(f);
  return CallbackFactory(std::move(functions));
}

// Only the calls, without the counters.
inline std::vector<std::string> words(const Calls& calls) {
  std::vector<std::string> out;
  for (const std::string& c : calls) out.push_back(c.substr(0, c.find(' ')));
  return out;
}

// A graph with something to train: counts how often it was.
class TrainerTest : public GraphTest {
 protected:
  Variable steps = var("steps", Array(0.f));
  Operation train = Operation(steps.assign_add(1.f).node());
};

// Like a custom trainer: this many hooked runs in each iteration.
class UnevenTrainer final : public Trainer {
 public:
  explicit UnevenTrainer(std::vector<int> runs) : runs_(std::move(runs)) {}
  void run_step() override {
    for (int i = 0; i < runs_[static_cast<std::size_t>(iteration()) % runs_.size()]; ++i)
      hooked_session().run(train_op);
  }

 private:
  std::vector<int> runs_;
};

}  // namespace belfry::testing_support
