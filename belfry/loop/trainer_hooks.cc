// Calls the callbacks in each hook, and then what they have deferred until its end.
#include <fmt/format.h>

#include <exception>
#include <utility>

#include "belfry/base/internal/exception_text.h"
#include "belfry/base/log.h"
#include "belfry/loop/internal/callback_hook.h"
#include "belfry/loop/run_directory.h"
#include "belfry/loop/trainer.h"

namespace belfry {

// To be called in a catch block: the first error is the one to throw, the others are logged, after its text. An error
// that arrives twice counts once.
void Trainer::keep_first(std::exception_ptr& error, std::string_view who, std::string_view what) {
  const std::exception_ptr caught = std::current_exception();
  if (error == nullptr) error = caught;
  if (error == caught) return;
  if (!std::exchange(said_first_, true))
    log_error(fmt::format("[Trainer] training ends with this error, which will be thrown: {}", text_of(error)));
  log_error(fmt::format("[{}] besides the error that will be thrown, {} failed too: {}", who, what, text_of(caught)));
}

// After a stop, or the end of the data in a callback's separate run, the other callbacks are still called, and the
// exception waits in stop_; after an error they are not. If there are both, the error is thrown.
void Trainer::call(const char* hook, void (Callback::*method)()) { end_hook(turns(hook, method)); }

std::exception_ptr Trainer::turns(const char* hook, void (Callback::*method)()) {
  std::exception_ptr error;
  in_hook_ = true;
  doing_ = hook;
  for (const Handle<Callback>& callback : callbacks_)
    if (!turn(*callback, hook, [&] { ((*callback).*method)(); }, error)) break;
  return error;
}

// What is saved after it says whether an interruption has cut a callback short.
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
        log_info(fmt::format("[{}] {} wants to stop training too: {}", callback.name(), hook, e.what()));
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

// They run also after an error: what a saver was asked to save is saved.
void Trainer::run_postponed(std::vector<std::function<void()>>& actions, std::exception_ptr& error) {
  for (const std::function<void()>& action : std::exchange(actions, {})) {
    try {
      action();
    } catch (...) {
      keep_first(error, "Trainer", "what was deferred until then");
    }
  }
}

}  // namespace belfry
