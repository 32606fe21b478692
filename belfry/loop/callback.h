// Callback: everything that happens around the steps of a training.
//
//   class PrintLoss final : public Callback {
//     HookRequest before_run(const RunContext&) override { return {.fetches = {"cost"}}; }
//     void after_run(const RunContext&, const RunValues& values) override { last_ = values[0].item(); }
//     void trigger_epoch() override { fmt::print("epoch {}: {}\n", trainer().epoch_num(), last_); }
//     double last_ = 0;
//   };
//
// When exactly each is called (see Trainer::main_loop):
//
//   setup_graph                      the graph may still grow
//   before_train                     the session is ready, the graph must not change any more
//   each epoch:  before_epoch
//     each step: before_run, the step, after_run (both for every run of hooked_session()), then trigger_step
//     after_epoch, trigger_epoch
//   after_train                      however training ended
//
// A continued run goes on where its checkpoint was saved, also in the middle of an epoch (then with resume_epoch()
// instead of before_epoch()), and even of a hook that an interruption has cut short: with the callback that was cut.
//
// The callbacks of a training are called in this order: the input's and the trainer's, the step counter, the user's,
// the defaults, the monitors. All calls are on the thread that trains.
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
  // Patterns for their names ("epoch-*.png"), so that those of an earlier run are moved aside. Checkpoints, their
  // indexes and stats.json need none.
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
  // The same when a continued run goes on in the middle of an epoch. A callback whose before_epoch() changes what a
  // checkpoint holds overrides this, so that it is not changed twice.
  virtual void resume_epoch() { before_epoch(); }
  // What to fetch and feed along with the run.
  virtual HookRequest before_run(const RunContext&) { return {}; }
  // The values of what before_run() asked for, of the same execution. Only after a run that succeeded.
  virtual void after_run(const RunContext&, const RunValues&) {}
  virtual void trigger_step() {}
  virtual void after_epoch() {}
  virtual void trigger_epoch() { trigger(); }
  // The callback's main action, by default once per epoch; wrappers (triggers.h) call it at other times.
  virtual void trigger() {}
  virtual void after_train() {}

  // The state that a checkpoint keeps for it, any text, and the way back. A resumed callback continues as if it had not
  // been interrupted.
  virtual std::string state() const { return ""; }
  virtual void restore(const std::string& /*state*/) {}
  // For callbacks that defer actions (Trainer::after_this_hook(), decide_after_this_hook()): an interruption cut the
  // hook short after this callback's turn, and what it had deferred was dropped. Called when a continued run completes
  // the hook, to defer it again.
  virtual void defer_again() {}
  // Saves what it saves, between two steps, although it is not its time: somebody has asked for it (SIGUSR1).
  virtual void save_now() {}
  // Waits until all that it has begun to save is saved.
  virtual void finish_saves() {}

  // Whether state() is the position in the data: a roll-back (OnBadCost::roll_back) leaves it, so that what made the
  // training diverge is not used again.
  virtual bool holds_data_position() const { return false; }

  // Where it writes files. Before training these directories are created and claimed for this run alone. Right before
  // the first step, after every before_train(), what an earlier run left there is moved aside: write files before that
  // step only through Trainer::before_first_step().
  virtual std::vector<Written> writes() const { return {}; }

  // Whether all scalars that it puts into the monitors are declared (Monitors::declare()); true for one that puts none.
  // If this holds for all callbacks, a saver that watches a metric which none of them puts is an error before the first
  // step; otherwise only a name that is close to a declared one is (see Monitors::expect()).
  virtual bool declares_metrics() const { return false; }

  // Whether only the chief of several processes calls it.
  virtual bool chief_only() const { return true; }
  virtual std::string name() const;  // for messages; default: the class's

  // The trainer of the training that it takes part in; throws before setup_graph().
  Trainer& trainer() const;
  // Called by the trainer, before setup_graph(). A wrapper passes it on.
  virtual void attach(Trainer& trainer) { trainer_ = &trainer; }

 private:
  Trainer* trainer_ = nullptr;
};

using Callbacks = std::vector<Handle<Callback>>;

}  // namespace belfry
#pragma GCC visibility pop
