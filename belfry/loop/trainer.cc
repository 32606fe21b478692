#include "belfry/loop/trainer.h"

#include <errno.h>  // program_invocation_short_name
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <utility>

#include "belfry/base/check.h"
#include "belfry/base/internal/exception_text.h"
#include "belfry/base/log.h"
#include "belfry/loop/internal/callback_hook.h"
#include "belfry/loop/internal/run_record.h"
#include "belfry/loop/internal/training_defaults.h"
#include "belfry/loop/run_directory.h"
#include "belfry/loop/step_counter.h"
#include "belfry/loop/training_state.h"

namespace belfry {

namespace {

// The hooks of RunPosition.
constexpr const char *kNoHook = "", *kBeforeEpoch = "before_epoch", *kStep = "step", *kTriggerStep = "trigger_step",
                     *kAfterEpoch = "after_epoch", *kTriggerEpoch = "trigger_epoch";

constexpr int kMostRollBacks = 3;  // to the same checkpoint

const char* known_hook(std::string_view name) {
  for (const char* hook : {kStep, kTriggerStep, kAfterEpoch, kTriggerEpoch})
    if (name == hook) return hook;
  return kStep;
}

}  // namespace

Trainer::Trainer()
    : graph_(chosen_graph_or_null()), run_dir_(std::string("train_log/") + program_invocation_short_name) {
  if (graph_ != nullptr) return;
  own_graph_ = std::make_unique<Graph>();
  graph_ = own_graph_.get();
  default_graph_ = std::make_unique<DefaultGraph>(*graph_);
}

Trainer::~Trainer() = default;

// The loop. Everything else here is preparation, and the way back into the middle of an epoch.
void Trainer::run_epochs(RunPosition from) {
  if (from.hook.empty()) triggered_step_ = global_step_;
  for (int epoch = from.next_epoch; epoch <= loop_.max_epoch; ++epoch) {
    check_stop();
    epoch_num_ = epoch;
    epoch_steps_ = from.steps_done;
    begin_epoch(from);
    for (local_step_ = epoch_steps_; local_step_ < steps_to_do(from); ++local_step_) {
      step();
      ++iteration_;
      ++epoch_steps_;
      triggered_before_ = std::exchange(triggered_step_, global_step_);
      after_step({});
    }
    if (from.hook != kTriggerEpoch) call(kAfterEpoch, &Callback::after_epoch, kTriggerEpoch, from);
    call(kTriggerEpoch, &Callback::trigger_epoch, kNoHook, from);
    end_if_stopped();
    from = {};
  }
}

// Again from the last checkpoint after a number that is not finite, if the trainer is told so.
void Trainer::run_with_roll_backs(RunPosition from) {
  for (;;) {
    std::string why;
    try {
      return run_epochs(from);
    } catch (const NumericError& error) {
      if (!rolls_back()) throw;
      why = error.what();
    }
    from = roll_back(why);
  }
}

RunPosition Trainer::roll_back(const std::string& why) {
  for (const Handle<Callback>& callback : callbacks_) callback->finish_saves();
  const std::string place = place_of_checkpoints();
  BELFRY_CHECK_AS(NumericError, !place.empty(),
                  "{} There is no checkpoint yet to go back to. Add a ModelSaver, or let it save before this step.",
                  why);
  const std::int64_t from = global_step_;
  const InitReport report = ContinueRun(place, {.strict = true}).init(*session_, where_);
  global_step_ = report.step.value_or(0);
  same_roll_back_ = report.checkpoint == continued_checkpoint_ ? same_roll_back_ + 1 : 1;
  BELFRY_CHECK_AS(NumericError, same_roll_back_ <= kMostRollBacks,
                  "{} Training was rolled back to '{}' {} times, and did not get further. Lower the learning rate.",
                  why, report.checkpoint, kMostRollBacks);
  continued_checkpoint_ = report.checkpoint;
  restore_training_state(*this, report.training, RestoreData::no);
  stop_ = nullptr;
  log_warning(fmt::format(
      "[Trainer] {} Training goes back from step {} to '{}' (step {}), and on with the data that come next.", why, from,
      report.checkpoint, global_step_));
  monitors_.put_scalar("roll_backs", ++roll_backs_);
  const RunPosition at = continued_.value_or(RunPosition{.next_epoch = epoch_num_});
  return at.ended ? RunPosition{.next_epoch = at.next_epoch} : at;
}

void Trainer::begin_epoch(const RunPosition& from) {
  hook_ = kBeforeEpoch;
  if (from.hook == kNoHook || from.hook == kBeforeEpoch) {
    call(kBeforeEpoch, &Callback::before_epoch, kStep, from);
  } else {
    call("resume_epoch", &Callback::resume_epoch, known_hook(from.hook));
  }
  end_if_stopped();
  if (from.hook != kTriggerStep) return;
  local_step_ = from.steps_done - 1;
  after_step(from);
}

// An epoch whose steps are done has none left, also if epochs are longer now.
std::int64_t Trainer::steps_to_do(const RunPosition& from) const {
  const bool done = from.hook == kAfterEpoch || from.hook == kTriggerEpoch;
  return done ? from.steps_done : loop_.steps_per_epoch;
}

void Trainer::after_step(const RunPosition& from) {
  const char* const next = epoch_steps_ < loop_.steps_per_epoch ? kStep : kAfterEpoch;
  call(kTriggerStep, &Callback::trigger_step, next, from);
  if (save_requested_.exchange(false)) call("save_now", &Callback::save_now, next);
  if (epoch_steps_ < loop_.steps_per_epoch) end_if_stopped();  // otherwise the epoch is finished, and its hooks run
}

void Trainer::step() try {
  run_as(Waiter::step, [this] { run_step(); });
} catch (const NumericError& error) {
  throw NumericError(fmt::format("{} (step {}, in epoch {})", error.what(), global_step_ + 1, epoch_num_));
}

std::string Trainer::main_loop(const LoopOptions& options, const Location& where) {
  BELFRY_CHECK(options.steps_per_epoch >= 0, "[main_loop] expected steps_per_epoch of 0 or more, got {} (at {}).",
               options.steps_per_epoch, to_string(where));
  const int start = options.starting_epoch.value_or(1);
  BELFRY_CHECK(start >= 1, "[main_loop] expected starting_epoch of 1 or more, got {} (at {}).", start,
               to_string(where));
  BELFRY_CHECK(start <= options.max_epoch,
               "[main_loop] expected a starting_epoch of at most max_epoch, the last one, got {} and {} (at {}). "
               "Nothing is left to train: raise max_epoch.",
               start, options.max_epoch, to_string(where));
  enter(Phase::session_ready, Phase::looping, "main_loop");
  loop_ = options;
  where_ = where;
  const RunPosition from = beginning();
  epoch_num_ = starting_epoch_ - 1;
  if (starting_epoch_ > options.max_epoch) return end_without_training();
  std::string reason;
  std::exception_ptr error;
  try {
    call_before_train();
    end_if_stopped();
    run_with_roll_backs(from);
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
  } catch (const EndOfData&) {     // it has ended too
  } catch (...) {
    keep_first(error, "Trainer", "end_steps");
  }
  end_loop(std::move(error), reason);
  if (is_chief()) log_info(fmt::format("Training has ended: {}{}", reason, reason.ends_with('.') ? "" : "."));
  return reason;
}

// Every callback's after_train() runs, whatever the others do; the first error of the training is thrown.
void Trainer::end_loop(std::exception_ptr error, const std::string& reason) {
  phase_ = Phase::ended;
  doing_ = "after_train";
  for (const Handle<Callback>& callback : callbacks_) {
    called_ = &*callback;
    try {
      callback->after_train();
    } catch (const StopTraining&) {  // it has ended
    } catch (const EndOfData&) {     // it has ended too
    } catch (...) {
      if (error == nullptr) log_failed_hook(*callback, "after_train");
      keep_first(error, callback->name(), "after_train");
    }
  }
  end_record(error, reason);
  directories_.reset();
  called_ = nullptr;
  if (error != nullptr) std::rethrow_exception(error);
}

void Trainer::end_record(const std::exception_ptr& error, const std::string& reason) {
  if (record_ == nullptr) return;
  const char* const state = error != nullptr                                  ? "failed"
                            : save_at_end_                                    ? "interrupted"
                            : epoch_num_ >= loop_.max_epoch && *hook_ == '\0' ? "finished"
                                                                              : "stopped";
  record_->end(state, error != nullptr ? text_of(error) : reason, signal_);
}

// All that was to be trained is trained: the same command, started again, does nothing.
std::string Trainer::end_without_training() {
  phase_ = Phase::ended;
  directories_.reset();
  const std::string reason = fmt::format("finished epoch {} before", epoch_num_);
  if (is_chief()) log_info(fmt::format("Nothing is left to train: the continued run has {}.", reason));
  return reason;
}

void Trainer::run_step() {
  BELFRY_CHECK(static_cast<bool>(train_op),
               "[Trainer] expected a train_op or a class that overrides run_step(), got neither (at {}). Set train_op "
               "before training.",
               to_string(where_));
  hooked_session().run(train_op, {}, {}, where_);
}

InferenceTowers& Trainer::inference_towers(std::string_view caller) {
  InferenceTowers* towers = find_inference_towers();
  BELFRY_CHECK(towers != nullptr, "[{}] expected a TowerTrainer, which has a tower function, got another trainer.",
               caller);
  return *towers;
}

std::vector<Operation> Trainer::train_ops() const {
  return train_op ? std::vector<Operation>{train_op} : std::vector<Operation>();
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
  enter(Phase::defining, Phase::defining, "setup_callbacks");  // a second call throws before anything is added
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
  files_dir_ = directories->main(run_dir_);
  continued_checkpoint_ = report.checkpoint;
  restore_training_state(*this, report.training);
  if (!report.step) continued_.reset();  // only its values
  if (is_chief() && !report.checkpoint.empty())
    log_info(fmt::format("[ContinueRun] continues '{}', global_step {}{}.", report.checkpoint, global_step_,
                         continued_ ? ": " + to_string(*continued_) : ""));
  graph_->finalize();
  hooked_session_ = std::make_unique<HookedSession>(*session_, hooks_of(callbacks_));
  directories_ = std::move(directories);
}

// The run in the first directory that holds one. Whatever is wrong with it is an error: to begin anew instead would
// lose it.
SessionInit Trainer::resumed(const SessionInit& otherwise) {
  const std::string place = place_of_checkpoints();
  if (place.empty()) return otherwise;
  check_same_program(place);
  return ContinueRun(place, {.strict = true});
}

// The first of the run's directories that holds any; "" if none does.
std::string Trainer::place_of_checkpoints() const {
  std::vector<std::string> places{run_dir_};
  for (const Handle<Callback>& callback : callbacks_)
    for (const Written& written : callback->writes()) places.push_back(written.directory);
  const auto is_of_the_run = [](const ListedCheckpoint& found) { return found.prefix == "model"; };
  for (const std::string& place : places)
    if (std::filesystem::is_directory(place) && std::ranges::any_of(list_checkpoints(place), is_of_the_run))
      return place;
  return "";
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
  auto_resume_ = options.auto_resume;
  const std::int64_t steps = steps_of(options, where);
  setup_callbacks(options.callbacks, options.monitors, where);
  initialize(options.session_config, options.auto_resume ? resumed(options.session_init) : options.session_init, where);
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
                 "[Trainer::explain] expected an earlier step, or a batch, got neither (at {}). Pass the size of a "
                 "tower's batch, or call it after the first step.",
                 to_string(where));
    return hooked_session().explain(where);
  }
  const std::vector<Operation> ops = train_op ? std::vector<Operation>{train_op} : train_ops();
  BELFRY_CHECK(!ops.empty(),
               "[Trainer::explain] expected a train_op, got a trainer without one (at {}). Call it without a batch "
               "after the first step.",
               to_string(where));
  return session().explain_batch({ops.begin(), ops.end()}, *batch, where);
}

std::string Trainer::command_line() const { return command_line_text(); }

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
