#include "belfry/loop/trainer.h"

#include <errno.h>  // program_invocation_short_name

#include <exception>
#include <utility>

#include "belfry/base/check.h"
#include "belfry/base/exception_text.h"
#include "belfry/base/log.h"
#include "belfry/loop/callback_hook.h"
#include "belfry/loop/run_directory.h"
#include "belfry/loop/step_counter.h"
#include "belfry/loop/training_defaults.h"
#include "belfry/loop/training_state.h"

namespace belfry {

Trainer::Trainer()
    : graph_(chosen_graph_or_null()), run_dir_(std::string("train_log/") + program_invocation_short_name) {
  if (graph_ != nullptr) return;
  own_graph_ = std::make_unique<Graph>();
  graph_ = own_graph_.get();
  default_graph_ = std::make_unique<DefaultGraph>(*graph_);
}

Trainer::~Trainer() = default;

// While it is caught: the first error is the one to throw, the others are logged, behind its text. One that arrives
// twice is one.
void Trainer::keep_first(std::exception_ptr& error, std::string_view who, std::string_view what) {
  const std::exception_ptr caught = std::current_exception();
  if (error == nullptr) error = caught;
  if (error == caught) return;
  if (!std::exchange(said_first_, true))
    log_error(fmt::format("[Trainer] training ends with this error, which is thrown: {}", text_of(error)));
  log_error(fmt::format("[{}] after an error that is thrown, {} failed as well: {}", who, what, text_of(caught)));
}

// The loop. Everything else here is preparation.
void Trainer::run_epochs() {
  call_before_train();
  triggered_step_ = global_step_;
  end_if_stopped();
  for (int epoch = loop_.starting_epoch; epoch <= loop_.max_epoch; ++epoch) {
    check_stop();
    epoch_num_ = epoch;
    epoch_steps_ = 0;
    epoch_ended_ = false;
    call("before_epoch", &Callback::before_epoch);
    end_if_stopped();
    for (local_step_ = 0; local_step_ < loop_.steps_per_epoch; ++local_step_) {
      step();
      ++iteration_;
      ++epoch_steps_;
      triggered_before_ = std::exchange(triggered_step_, global_step_);
      call("trigger_step", &Callback::trigger_step);
      if (local_step_ + 1 < loop_.steps_per_epoch) end_if_stopped();  // else the epoch is finished, and its hooks run
    }
    call("after_epoch", &Callback::after_epoch);
    call_trigger_epoch();
    end_if_stopped();
  }
}

void Trainer::step() try {
  run_as(Waiter::step, [this] { run_step(); });
} catch (const NumericError& error) {
  throw NumericError(fmt::format("{} (step {}, in epoch {})", error.what(), global_step_ + 1, epoch_num_));
}

std::string Trainer::main_loop(const LoopOptions& options, const Location& where) {
  BELFRY_CHECK(options.steps_per_epoch >= 0, "[main_loop] expected steps_per_epoch from 0 up, got {} (at {}).",
               options.steps_per_epoch, to_string(where));
  BELFRY_CHECK(options.starting_epoch >= 1, "[main_loop] expected starting_epoch from 1 up, got {} (at {}).",
               options.starting_epoch, to_string(where));
  BELFRY_CHECK(
      options.starting_epoch <= options.max_epoch,
      "[main_loop] expected a starting_epoch that is not behind max_epoch, the last one, got {} and {} (at {}). "
      "Nothing is left to train: raise max_epoch.",
      options.starting_epoch, options.max_epoch, to_string(where));
  enter(Phase::session_ready, Phase::looping, "main_loop");
  loop_ = options;
  where_ = where;
  epoch_num_ = options.starting_epoch - 1;
  warn_of_other_epoch();
  std::string reason;
  std::exception_ptr error;
  try {
    run_epochs();
    reason = fmt::format("finished epoch {}", epoch_num_);
  } catch (const StopTraining& stop) {
    reason = stop.what();
  } catch (const EndOfData& end) {
    reason = end.what();
  } catch (...) {
    error = std::current_exception();
  }
  try {
    end_steps();
  } catch (const StopTraining&) {  // it has ended
  } catch (const EndOfData&) {     // likewise
  } catch (...) {
    keep_first(error, "Trainer", "end_steps");
  }
  end_loop(std::move(error));
  if (is_chief()) log_info(fmt::format("Training has ended: {}{}", reason, reason.ends_with('.') ? "" : "."));
  return reason;
}

// Every callback's after_train() runs, whatever the others do; the first error of the training is what is thrown.
void Trainer::end_loop(std::exception_ptr error) {
  phase_ = Phase::ended;
  doing_ = "after_train";
  for (const Handle<Callback>& callback : callbacks_) {
    called_ = &*callback;
    try {
      callback->after_train();
    } catch (const StopTraining&) {  // it has ended
    } catch (const EndOfData&) {     // likewise
    } catch (...) {
      if (error == nullptr) log_failed_hook(*callback, "after_train");
      keep_first(error, callback->name(), "after_train");
    }
  }
  directories_.reset();
  called_ = nullptr;
  if (error != nullptr) std::rethrow_exception(error);
}

// A stop, or the end of the data in a run of a callback's own, lets the other callbacks have their turn and waits in
// stop_; an error does not, and is what is thrown if there are both.
void Trainer::call(const char* hook, void (Callback::*method)()) { end_hook(turns(hook, method)); }

std::exception_ptr Trainer::turns(const char* hook, void (Callback::*method)()) {
  std::exception_ptr error;
  in_hook_ = true;
  doing_ = hook;
  for (const Handle<Callback>& callback : callbacks_)
    if (!turn(*callback, hook, [&] { ((*callback).*method)(); }, error)) break;
  return error;
}

// What is saved behind it says whether an interruption has cut a callback short.
void Trainer::call_trigger_epoch() {
  const std::exception_ptr error = turns("trigger_epoch", &Callback::trigger_epoch);
  epoch_ended_ = error == nullptr && (stop_ == nullptr || !save_at_end_);
  end_hook(error);
}

// Nothing of an earlier run moves, and nothing is written, unless training really starts.
void Trainer::call_before_train() {
  std::exception_ptr error;
  in_hook_ = in_before_train_ = true;
  doing_ = "before_train";
  for (const Handle<Callback>& callback : callbacks_)
    if (!turn(*callback, "before_train", [&] { wait_as(Waiter::step, [&] { callback->before_train(); }); }, error))
      break;
  in_before_train_ = false;
  called_ = nullptr;
  const std::vector<std::pair<const Callback*, std::function<void()>>> starts = std::exchange(starts_, {});
  const bool begins = error == nullptr && stop_ == nullptr && !stop_requested_;
  try {
    if (begins) directories_->keep_previous_run();
  } catch (...) {
    error = std::current_exception();
  }
  if (!begins || error != nullptr) {
    decisions_.clear();
    postponed_.clear();
    return end_hook(error);
  }
  for (const auto& [callback, action] : starts)
    if (!turn(*callback, "before_train", action, error)) break;
  end_hook(error);
}

// What one callback does in a hook; false after an error.
bool Trainer::turn(const Callback& callback, const char* hook, FunctionRef<void()> run, std::exception_ptr& error) {
  called_ = &callback;
  try {
    run();
    return true;
  } catch (const std::exception& e) {
    if (is_clean_end(e)) {
      if (stop_ != nullptr)
        log_info(fmt::format("[{}] {} wants to stop training as well: {}", callback.name(), hook, e.what()));
      else
        stop_ = std::current_exception();
      return true;
    }
    error = std::current_exception();
  } catch (...) {
    error = std::current_exception();
  }
  log_failed_hook(callback, hook);
  return false;
}

void Trainer::end_hook(std::exception_ptr error) {
  called_ = nullptr;
  run_postponed(decisions_, error);
  in_hook_ = false;
  doing_ = "savers";
  run_postponed(postponed_, error);
  doing_ = "the running step";
  if (error != nullptr) std::rethrow_exception(error);
}

void Trainer::end_if_stopped() {
  if (stop_ != nullptr) std::rethrow_exception(stop_);
}

void Trainer::after_this_hook(std::function<void()> action) {
  if (in_hook_)
    postponed_.push_back(std::move(action));
  else
    action();
}

void Trainer::decide_after_this_hook(std::function<void()> action) {
  if (in_hook_)
    decisions_.push_back(std::move(action));
  else
    action();
}

void Trainer::before_first_step(std::function<void()> action) {
  if (in_before_train_)
    starts_.emplace_back(called_.load(), std::move(action));
  else
    action();
}

// Also after an error: what a saver was asked to save is saved.
void Trainer::run_postponed(std::vector<std::function<void()>>& actions, std::exception_ptr& error) {
  for (const std::function<void()>& action : std::exchange(actions, {})) {
    try {
      action();
    } catch (...) {
      keep_first(error, "Trainer", "what was put off until then");
    }
  }
}

void Trainer::run_step() {
  BELFRY_CHECK(static_cast<bool>(train_op),
               "[Trainer] expected a train_op or a class that overrides run_step(), got neither (at {}). Set train_op "
               "before training.",
               to_string(where_));
  hooked_session().run(train_op, {}, {}, where_);
}

std::vector<Operation> Trainer::train_ops() const {
  return train_op ? std::vector<Operation>{train_op} : std::vector<Operation>();
}

void Trainer::request_stop(std::string reason, bool save) {
  const MutexLock lock(stop_mutex_);
  if (save) save_at_end_ = true;
  if (!stop_requested_) stop_reason_ = std::move(reason);
  stop_requested_ = true;
  if (must_stop(waiter_)) interrupt();
}

// With the lock, so that the wait is still there when it is given up.
void Trainer::interrupt() {
  session_->interrupt();
  if (give_up_ != nullptr) (*give_up_)();
}

std::string Trainer::activity() const {
  const Callback* const callback = called_;
  return callback == nullptr ? std::string(doing_) : fmt::format("{} of {}", doing_.load(), callback->name());
}

// A step does not begin any more. Callbacks of a finished epoch may go on with data of their own, unless somebody is in
// a hurry.
bool Trainer::must_stop(Waiter waiter) const {
  switch (waiter) {
    case Waiter::none: return false;
    case Waiter::step: return stop_requested_;
    case Waiter::callback: return save_at_end_;
  }
  return false;
}

void Trainer::check_stop(Waiter waiter) {
  if (!must_stop(waiter)) return;
  const MutexLock lock(stop_mutex_);
  throw StopTraining(stop_reason_);
}

// Before the first epoch there is nothing finished for whose sake a callback may go on.
void Trainer::run_interruptibly(FunctionRef<void()> run) {
  run_as(epoch_num_ < loop_.starting_epoch ? Waiter::step : Waiter::callback, run);
}

// Whoever requests a stop finds the run not begun, and it does not begin, or finds it begun, and ends its wait for
// data.
void Trainer::run_as(Waiter waiter, FunctionRef<void()> run) {
  wait_as(waiter, [&] {
    check_stop(waiter);
    run();
  });
}

// The same for what begins in any case.
void Trainer::wait_as(Waiter waiter, FunctionRef<void()> run) {
  const Waiter before = set_waiter(waiter);
  try {
    run();
  } catch (const Cancelled&) {
    set_waiter(before);
    check_stop(waiter);
    throw;
  } catch (...) {
    set_waiter(before);
    throw;
  }
  set_waiter(before);
}

void Trainer::wait_interruptibly(FunctionRef<void()> wait, FunctionRef<void()> give_up) {
  Waiter waiter = Waiter::none;
  {
    const MutexLock lock(stop_mutex_);
    waiter = waiter_;
    if (must_stop(waiter)) throw StopTraining(stop_reason_);
    give_up_ = &give_up;
  }
  const auto end = [this] {
    const MutexLock lock(stop_mutex_);
    give_up_ = nullptr;
  };
  try {
    wait();
  } catch (const Cancelled&) {
    end();
    check_stop(waiter);
    throw;
  } catch (...) {
    end();
    throw;
  }
  end();
}

Trainer::Waiter Trainer::set_waiter(Waiter waiter) {
  const MutexLock lock(stop_mutex_);
  if (must_stop(waiter))
    interrupt();  // also a step that goes on behind a callback that could wait
  else if (stop_requested_)
    session_->forget_interrupt();  // which was the step's: a callback in it may go on
  return std::exchange(waiter_, waiter);
}

void Trainer::enter(Phase from, Phase to, const char* method) {
  static constexpr const char* kPhases[] = {"the graph is being defined", "the callbacks are set up",
                                            "the session is initialized", "the loop runs", "training has ended"};
  static constexpr const char* kNext[] = {"setup_callbacks", "initialize", "main_loop"};
  const auto now = static_cast<std::size_t>(phase_);
  BELFRY_CHECK(phase_ == from, "[{}] expected to be called when {}, got a call when {}. {}", method,
               kPhases[static_cast<std::size_t>(from)], kPhases[now],
               now < std::size(kNext) ? fmt::format("Next is {}().", kNext[now])
                                      : std::string("A trainer trains once: make another one."));
  phase_ = to;
}

void Trainer::register_callback(Handle<Callback> callback) {
  BELFRY_CHECK(static_cast<bool>(callback), "[register_callback] expected a callback, got an empty handle.");
  BELFRY_CHECK(phase_ == Phase::defining,
               "[register_callback] expected '{}' before setup_callbacks(), got it after. Pass it to train().",
               callback->name());
  callbacks_.push_back(std::move(callback));
}

void Trainer::register_callbacks(const Callbacks& callbacks) {
  for (const Handle<Callback>& callback : callbacks) register_callback(callback);
}

void Trainer::unregister_callbacks(std::size_t kept) { callbacks_.resize(kept); }

void Trainer::setup_callbacks(const Callbacks& callbacks, const std::vector<Handle<Monitor>>& monitors,
                              const Location& where) {
  where_ = where;
  enter(Phase::defining, Phase::defining, "setup_callbacks");  // a second call says so before anything is added
  register_callback(StepCounter());
  register_callbacks(callbacks);
  for (const Handle<Monitor>& monitor : monitors) {
    register_callback(monitor.shared());
    if (is_chief() || !monitor->chief_only()) monitors_.add(monitor);
  }
  enter(Phase::defining, Phase::callbacks_ready, "setup_callbacks");
  const GraphScope scope(*graph_);
  if (!is_chief()) std::erase_if(callbacks_, [](const Handle<Callback>& c) { return c->chief_only(); });
  for (const Handle<Callback>& callback : callbacks_) callback->attach(*this);
  for (const Handle<Callback>& callback : callbacks_) callback->setup_graph();
}

void Trainer::initialize(const SessionConfig& config, const SessionInit& init, const Location& where) {
  where_ = where;
  enter(Phase::callbacks_ready, Phase::session_ready, "initialize");
  auto directories = std::make_unique<RunDirectories>(callbacks_, init.continued());  // freed again if this fails
  session_ = std::make_unique<Session>(*graph_, adapt(config), where);
  session_->initialize(false, where);
  const InitReport report = init.init(*session_, where);
  global_step_ = report.step.value_or(0);
  restore_training_state(*this, report.training);
  if (!report.step) continued_.reset();  // only its values
  if (is_chief() && !report.checkpoint.empty())
    log_info(fmt::format("[ContinueRun] continues '{}', global_step {}{}.", report.checkpoint, global_step_,
                         continued_ ? ": " + to_string(*continued_) : ""));
  graph_->finalize();
  hooked_session_ = std::make_unique<HookedSession>(*session_, hooks_of(callbacks_));
  directories_ = std::move(directories);
}

std::int64_t Trainer::steps_of(const TrainOptions& options, const Location& where) const {
  if (options.steps_per_epoch) return *options.steps_per_epoch;
  const std::optional<std::int64_t> steps = default_steps_per_epoch();
  BELFRY_CHECK(
      steps.has_value(),
      "[train] expected steps_per_epoch, or data that knows its size, got neither (at {}). Set steps_per_epoch.",
      to_string(where));
  log_info(
      fmt::format("[train] steps_per_epoch is {}: one pass of the data, not divided by the number of towers.", *steps));
  return *steps;
}

std::string Trainer::train(const TrainOptions& options, const Location& where) {
  if (!options.run_dir.empty()) set_run_dir(options.run_dir);
  const std::int64_t steps = steps_of(options, where);
  setup_callbacks(options.callbacks, options.monitors, where);
  initialize(options.session_config, options.session_init, where);
  return main_loop({.steps_per_epoch = steps, .starting_epoch = options.starting_epoch, .max_epoch = options.max_epoch},
                   where);
}

std::string Trainer::train_with_defaults(TrainOptions options, const Location& where) {
  const TrainingDefaults& defaults = training_defaults();
  for (Handle<Callback>& callback : options.extra_callbacks ? *options.extra_callbacks : defaults.callbacks())
    options.callbacks.push_back(std::move(callback));
  if (options.monitors.empty()) options.monitors = defaults.monitors();
  return train(options, where);
}

Session& Trainer::session() const {
  BELFRY_CHECK(session_ != nullptr,
               "[Trainer::session] expected to be called after initialize(), got a call before. Callbacks can use it "
               "from before_train() on.");
  return *session_;
}

HookedSession& Trainer::hooked_session() const {
  BELFRY_CHECK(hooked_session_ != nullptr,
               "[Trainer::hooked_session] expected to be called after initialize(), got a call before. Callbacks can "
               "use it from before_train() on.");
  return *hooked_session_;
}

std::string Trainer::explain(std::optional<std::int64_t> batch, const Location& where) const {
  if (!batch) {
    BELFRY_CHECK(hooked_session().has_run(),
                 "[Trainer::explain] expected a step before, or a batch, got neither (at {}). Pass the size of a "
                 "tower's batch, or call it behind the first step.",
                 to_string(where));
    return hooked_session().explain(where);
  }
  const std::vector<Operation> ops = train_op ? std::vector<Operation>{train_op} : train_ops();
  BELFRY_CHECK(!ops.empty(),
               "[Trainer::explain] expected a train_op, got a trainer without one (at {}). Call it without a batch "
               "behind the first step.",
               to_string(where));
  return session().explain_batch({ops.begin(), ops.end()}, *batch, where);
}

void Trainer::set_run_dir(std::string dir) {
  BELFRY_CHECK(!dir.empty(), "[Trainer] expected a directory for the run's files, got an empty name.");
  run_dir_ = std::move(dir);
}

Tensor Trainer::get_tensor(std::string_view name) const {
  if (const Tensor found = graph_->find_tensor(name)) return found;
  if (const Tensor found = find_tensor(name)) return found;
  return graph_->get_tensor_by_name(name);  // throws, with the nearest names
}

Tensor Trainer::find_tensor(std::string_view) const { return {}; }

}  // namespace belfry
