// Trainer: the loop. It knows about steps, epochs and callbacks, but not about models, towers or devices:
//
//   Trainer trainer;                       // uses the current graph, or owns one
//   trainer.train_op = sgd({.learning_rate = 0.1f})->minimize(cost);
//   trainer.train({.callbacks = {...}, .steps_per_epoch = 100, .max_epoch = 5});
//
// or a subclass that decides what a step is:
//
//   class MyTrainer final : public Trainer {
//     void run_step() override { hooked_session().run(d_min_); hooked_session().run(g_min_); }
//   };
//
// train() is three calls that can also be made separately: setup_callbacks(), initialize(), main_loop(). One thread
// makes all of them; request_stop() may be called from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "belfry/base/function_ref.h"
#include "belfry/base/mutex.h"
#include "belfry/base/stop_training.h"
#include "belfry/graph/graph.h"
#include "belfry/graph/scope.h"
#include "belfry/loop/callback.h"
#include "belfry/loop/monitors.h"
#include "belfry/loop/training_state.h"
#include "belfry/session/session_init.h"

#pragma GCC visibility push(default)
namespace belfry {

struct LoopOptions {
  std::int64_t steps_per_epoch = 0;  // 0: callbacks only
  // Default: where the continued run was, in the middle of an epoch too; 1 for a new one.
  std::optional<int> starting_epoch{};
  int max_epoch = 99999;  // the last one
};

struct TrainOptions {
  Callbacks callbacks{};
  // For train_with_defaults(): instead of the default ones. If no monitors are given, the default ones are used too.
  std::optional<Callbacks> extra_callbacks{};
  std::vector<Handle<Monitor>> monitors{};
  SessionConfig session_config{};
  SessionInit session_init{};
  std::optional<std::int64_t> steps_per_epoch{};  // required, unless the trainer knows it from its data
  std::optional<int> starting_epoch{};            // default: where the continued run was; 1 for a new one
  int max_epoch = 99999;                          // the last one
  // Where the run's files go; default: train_log/<name of the program>. Claimed for this run if a callback writes
  // there; files of an earlier run are moved to previous-1 in it (or the next number) right before the first step,
  // unless session_init continues that run.
  std::string run_dir{};
  // Continues the run in run_dir from its newest complete checkpoint, if there is one, as if it had never ended:
  // session_init is then not used. So the same program, started again, goes on. Needs a ModelSaver.
  bool auto_resume = false;
};

class InferenceTowers;
class RunDirectories;
class [[gnu::visibility("hidden")]] RunRecord;

class Trainer {
 public:
  Trainer();
  virtual ~Trainer();
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  // What the default run_step() runs. Alternatively override run_step().
  Operation train_op;
  // All operations that train, in any run: train_op, if it is set, and those of towers with separate runs.
  virtual std::vector<Operation> train_ops() const;

  // Phase 1 ends here: callbacks define what they need. Then the session is made and variables get their values. Then
  // the loop runs. Each may be called once, in this order; train() does all three. main_loop() and train() return why
  // training ended: "finished epoch 5", the text of a StopTraining or of a request_stop(), or the end of the data.
  void setup_callbacks(const Callbacks& callbacks, const std::vector<Handle<Monitor>>& monitors = {},
                       const Location& where = Location::current());
  virtual void initialize(const SessionConfig& config = {}, const SessionInit& init = {},
                          const Location& where = Location::current());
  // Errors in steps name the line of the call.
  std::string main_loop(const LoopOptions& options, const Location& where = Location::current());
  std::string train(const TrainOptions& options, const Location& where = Location::current());
  // The same with the default callbacks and monitors after the given ones.
  std::string train_with_defaults(TrainOptions options, const Location& where = Location::current());

  // Ends training before the next step, or in a step or a before_train() that waits for data; from any thread. With
  // `save` it is an interruption: savers save what they have not saved yet, and any run_interruptibly() ends too;
  // without it, only one from before the first epoch does. The first reason counts.
  void request_stop(std::string reason, bool save = false);
  // For run.json: the signal because of which training is asked to stop.
  void set_signal(int signal) { signal_ = signal; }
  bool stop_requested() const { return stop_requested_; }
  bool save_at_end() const { return save_at_end_; }
  // What training is doing, as readable text: "the running step", "trigger_epoch of InferenceRunner"; from any thread.
  std::string activity() const;
  // For callbacks that make separate runs, one call for each run: throws StopTraining if training was interrupted (see
  // request_stop()), or is interrupted while `run` waits for data from a queue.
  void run_interruptibly(FunctionRef<void()> run);
  // The same for a wait that is not for a queue, within a step or a run_interruptibly(); elsewhere nothing interrupts
  // it. The thread that stops training calls `give_up`, which must make `wait` throw Cancelled, now or later: that
  // becomes StopTraining. Other errors pass unchanged.
  void wait_interruptibly(FunctionRef<void()> wait, FunctionRef<void()> give_up);

  const Location& trained_at() const { return where_; }  // the last of these calls

  // One iteration. Runs train_op, unless overridden.
  virtual void run_step();

  Graph& graph() const { return *graph_; }
  Session& session() const;
  HookedSession& hooked_session() const;  // runs of it are steps: callbacks take part, global_step counts them
  // The plan of the last step, as Session::explain() prints one; takes no datapoint. With a batch, no earlier step is
  // needed: the plan is that of a step whose inputs, where their batch is unknown, have this many examples per tower.
  // From initialize() on, so in callbacks or after train().
  std::string explain(std::optional<std::int64_t> batch = {}, const Location& where = Location::current()) const;
  Monitors& monitors() { return monitors_; }
  const std::string& run_dir() const { return run_dir_; }
  // Where the run's own files go while it trains: run_dir(), or the first directory of its callbacks if none of them
  // writes there; "" if none writes anywhere.
  const std::string& files_dir() const { return files_dir_; }
  void set_run_dir(std::string dir);

  int starting_epoch() const { return starting_epoch_; }
  bool is_continued() const { return continued_.has_value(); }  // a run that a checkpoint holds; from initialize() on
  int max_epoch() const { return loop_.max_epoch; }
  std::int64_t steps_per_epoch() const { return loop_.steps_per_epoch; }
  int epoch_num() const { return epoch_num_; }             // of the running epoch; starting_epoch - 1 before the first
  std::int64_t local_step() const { return local_step_; }  // of the running step in its epoch, from 0
  std::int64_t iteration() const { return iteration_; }    // finished run_step()s
  std::int64_t global_step() const { return global_step_; }  // finished runs of hooked_session()
  // In trigger_step(): whether global_step has reached or passed a multiple of k since the previous trigger_step(),
  // whether an iteration has one hooked run, none or several.
  bool every_k_steps(std::int64_t k) const { return k > 0 && triggered_step_ / k > triggered_before_ / k; }
  RunPosition position() const;                      // what a checkpoint saved now would say
  bool auto_resume() const { return auto_resume_; }  // the same command continues the run
  std::string command_line() const;                  // of this program, quoted for a shell
  const std::string& continued_checkpoint() const { return continued_checkpoint_; }  // of a continued run: its file
  // The latest one of this run, as a saver has set it; empty if there is none.
  const std::string& last_checkpoint() const { return last_checkpoint_; }
  void set_last_checkpoint(std::string path) { last_checkpoint_ = std::move(path); }
  // Whether this is the one of several processes that writes files; true for a single process.
  virtual bool is_chief() const { return true; }

  // By name in the graph, or where else the trainer looks (the main training tower); throws with the nearest names.
  Tensor get_tensor(std::string_view name) const;

  // For callbacks that infer (see inference_towers.h). Throws, naming `caller`, unless the trainer has a tower
  // function, as a TowerTrainer does.
  InferenceTowers& inference_towers(std::string_view caller = "inference_towers");

  // Called along with the user's callbacks, before them. For inputs and trainers, until setup_callbacks().
  void register_callback(Handle<Callback> callback);
  void register_callbacks(const Callbacks& callbacks);
  const Callbacks& callbacks() const { return callbacks_; }  // all, in the order they are called
  // Asks the savers for a checkpoint after the running step; training goes on. From any thread.
  void request_save() { save_requested_ = true; }
  // For savers: calls `action` when the current hook (trigger_epoch(), say) has been called for all callbacks, so that
  // the saved state is one between two hooks; at once outside of hooks.
  void after_this_hook(std::function<void()> action);
  // The same for decisions based on what all callbacks have put: `action` is called before anything is saved, so that
  // checkpoints hold what was decided. It may call after_this_hook().
  void decide_after_this_hook(std::function<void()> action);
  // For callbacks that write, in before_train(): calls `action` when every before_train() has passed and files of an
  // earlier run have been moved aside, before what after_this_hook() and decide_after_this_hook() defer; not at all if
  // training ends before that. At once if that moment has passed.
  void before_first_step(std::function<void()> action);
  // Like Callback::declares_metrics(), for run_step().
  virtual bool declares_metrics() const { return false; }

 protected:
  // Other places to look a name up; empty if there is none.
  virtual Tensor find_tensor(std::string_view name) const;
  virtual InferenceTowers* find_inference_towers() { return nullptr; }
  // How many steps an epoch has if the options do not say: the size of the data.
  virtual std::optional<std::int64_t> default_steps_per_epoch() const { return std::nullopt; }
  // What the session needs besides what the user configured: devices, say.
  virtual SessionConfig adapt(SessionConfig config) const { return config; }
  // Keeps the first `kept`, and drops what a failed setup has registered after them.
  void unregister_callbacks(std::size_t kept);
  // Whether a NumericError of a step or a callback takes training back to its last checkpoint instead of ending it.
  virtual bool rolls_back() const { return false; }
  // Called on the way out of main_loop(), however training ended, before any after_train(): trainers that run steps on
  // other threads end these here. An error that it throws becomes the training's error, or is logged if there is one
  // already.
  virtual void end_steps() {}

 private:
  friend class StepCounter;
  friend CheckpointState training_state(Trainer&);
  friend void restore_training_state(Trainer&, const std::map<std::string, std::string>&, RestoreData);
  enum class Phase { defining, callbacks_ready, session_ready, looping, ended };
  void enter(Phase from, Phase to, const char* method);
  std::int64_t steps_of(const TrainOptions& options, const Location& where) const;
  enum class Waiter { none, step, callback };
  bool must_stop(Waiter waiter) const;
  void check_stop(Waiter waiter = Waiter::step);
  void step();
  void run_as(Waiter waiter, FunctionRef<void()> run);
  void wait_as(Waiter waiter, FunctionRef<void()> run);
  Waiter set_waiter(Waiter waiter);
  void interrupt() BELFRY_REQUIRES(stop_mutex_);
  void end_if_stopped();
  void run_epochs(RunPosition from);
  void begin_epoch(const RunPosition& from);
  void after_step(const RunPosition& from);
  std::int64_t steps_to_do(const RunPosition& from) const;
  RunPosition beginning();
  SessionInit resumed(const SessionInit& otherwise);
  std::string place_of_checkpoints() const;
  void run_with_roll_backs(RunPosition from);
  RunPosition roll_back(const std::string& why);
  std::string end_without_training();
  void end_loop(std::exception_ptr error, const std::string& reason);
  void end_record(const std::exception_ptr& error, const std::string& reason);
  using Method = void (Callback::*)();
  void call(const char* hook, Method method, const char* next, const RunPosition& from = {});
  void call_before_train();
  void begin_record();
  std::exception_ptr turns(const char* hook, Method method, const RunPosition& from);
  std::size_t first_turn(const char* hook, const RunPosition& from);
  void cut(const char* hook, std::size_t turn);
  void warn_of_other_epoch() const;
  enum class Turn { done, stopped, failed };
  Turn turn(const Callback& callback, const char* hook, FunctionRef<void()> run, std::exception_ptr& error);
  void end_hook(std::exception_ptr error);
  void keep_first(std::exception_ptr& error, std::string_view who, std::string_view what);
  struct Deferred {
    const Callback* by = nullptr;
    std::function<void()> action{};
  };
  void run_postponed(std::vector<Deferred>& actions, std::exception_ptr& error);

  std::unique_ptr<Graph> own_graph_;
  Graph* graph_ = nullptr;
  std::unique_ptr<DefaultGraph> default_graph_;
  Phase phase_ = Phase::defining;
  Callbacks callbacks_;
  Monitors monitors_{*this};
  std::unique_ptr<Session> session_;
  std::unique_ptr<HookedSession> hooked_session_;
  std::string run_dir_, files_dir_, continued_checkpoint_, last_checkpoint_;
  std::unique_ptr<RunDirectories> directories_;  // claimed, from initialize() to the end of training
  std::unique_ptr<RunRecord> record_;            // from the first step on, if there is a directory
  bool auto_resume_ = false;
  int roll_backs_ = 0, same_roll_back_ = 0;  // in all, and in a row to the same checkpoint
  std::atomic<int> signal_ = 0;
  LoopOptions loop_;
  int starting_epoch_ = 1;
  Location where_;  // of the last call that trains or prepares it
  bool in_hook_ = false, in_before_train_ = false;
  bool said_first_ = false;                      // the log has the text of the error that will be thrown
  std::exception_ptr stop_;                      // of a hook, until its epoch is over if that is finished
  std::vector<Deferred> decisions_, postponed_;  // until the hook is done
  std::vector<Deferred> starts_;                 // of before_first_step()
  int epoch_num_ = 0;
  std::int64_t local_step_ = 0, iteration_ = 0, global_step_ = 0;
  std::int64_t epoch_steps_ = 0;  // finished run_step()s of the epoch
  // What comes next (see RunPosition::hook), or the hook that was cut short, and at whose turn.
  const char* hook_ = "";
  std::optional<std::size_t> cut_at_;
  std::vector<std::string> cut_deferred_;
  std::optional<RunPosition> continued_;                    // of the continued run
  std::int64_t triggered_step_ = 0, triggered_before_ = 0;  // global_step at the last two trigger_step()s
  std::atomic<bool> stop_requested_ = false, save_at_end_ = false, save_requested_ = false;
  Mutex stop_mutex_;
  std::string stop_reason_ BELFRY_GUARDED_BY(stop_mutex_);
  Waiter waiter_ BELFRY_GUARDED_BY(stop_mutex_) = Waiter::none;  // whose wait for data may be interrupted
  const FunctionRef<void()>* give_up_ BELFRY_GUARDED_BY(stop_mutex_) = nullptr;  // of a wait_interruptibly()
  // For activity(): a hook's name and its callback, or something else without a callback.
  std::atomic<const char*> doing_ = "the set-up of training";
  std::atomic<const Callback*> called_ = nullptr;
};

}  // namespace belfry
#pragma GCC visibility pop
