// Callback: everything that happens around the steps of a training.
//
//   class PrintLoss final : public Callback {
//     HookRequest before_run(const RunContext&) override { return {.fetches = {"cost"}}; }
//     void after_run(const RunContext&, const RunValues& values) override { last_ = values[0].item(); }
//     void trigger_epoch() override { fmt::print("epoch {}: {}\n", trainer().epoch_num(), last_); }
//     double last_ = 0;
//   };
//
// When each is called, exactly (see Trainer::main_loop):
//
//   setup_graph                      the graph may still grow
//   before_train                     the session is ready, the graph is not to be changed any more
//   each epoch:  before_epoch
//     each step: before_run, the step, after_run (both for every run of hooked_session()), then trigger_step
//     after_epoch, trigger_epoch
//   after_train                      whatever the end was
//
// The callbacks of a training are called in the order: the input's and the trainer's, the step counter, the user's, the
// defaults, the monitors. All on the thread that trains.
#pragma once

#include <string>
#include <vector>

#include "belfry/base/handle.h"
#include "belfry/session/hooked_session.h"

#pragma GCC visibility push(default)
namespace belfry {

class Trainer;

// Files of a callback, for the claim of their directory (see run_directory.h).
struct Written {
  std::string directory{};
  // What they are called ("epoch-*.png"), so that those of an earlier run are moved aside. Checkpoints, their indexes
  // and stats.json are known.
  std::vector<std::string> patterns{};
};

class Callback {
 public:
  Callback() = default;
  virtual ~Callback() = default;
  Callback(Callback&&) = default;
  Callback& operator=(Callback&&) = default;

  virtual void setup_graph() {}
  virtual void before_train() {}
  virtual void before_epoch() {}
  // What to fetch and feed along with the run.
  virtual HookRequest before_run(const RunContext&) { return {}; }
  // The values of what before_run() asked for, of the same execution. Only after a run that succeeded.
  virtual void after_run(const RunContext&, const RunValues&) {}
  virtual void trigger_step() {}
  virtual void after_epoch() {}
  virtual void trigger_epoch() { trigger(); }
  // What the callback is there for, by default once an epoch; wrappers (triggers.h) call it at other times.
  virtual void trigger() {}
  virtual void after_train() {}

  // What a checkpoint keeps of it, any text, and back. A callback that is resumed goes on as if nothing had happened.
  virtual std::string state() const { return ""; }
  virtual void restore(const std::string& /*state*/) {}

  // Where it writes files. Before training these directories are made and claimed for this run alone, and right before
  // the first step, behind every before_train(), what an earlier run left there is moved aside: what is to be written
  // before that step goes through Trainer::before_first_step().
  virtual std::vector<Written> writes() const { return {}; }

  // Whether all scalars that it puts into the monitors are declared (Monitors::declare()), if it puts any: true for one
  // that puts none. Where all callbacks say so, a saver that watches a metric which nobody puts is an error before the
  // first step; where one does not, only a name that is nearly a declared one is (see Monitors::expect()).
  virtual bool declares_metrics() const { return false; }

  // Whether only the chief of several processes calls it.
  virtual bool chief_only() const { return true; }
  virtual std::string name() const;  // for texts; default: the class's

  // Of the training that it takes part in; throws before that has called setup_graph().
  Trainer& trainer() const;
  // Called by the trainer, before setup_graph(). A wrapper passes it on.
  virtual void attach(Trainer& trainer) { trainer_ = &trainer; }

 private:
  Trainer* trainer_ = nullptr;
};

using Callbacks = std::vector<Handle<Callback>>;

}  // namespace belfry
#pragma GCC visibility pop
