// Calls the callbacks in each hook, and then what they have deferred until its end.
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "belfry/base/internal/exception_text.h"
#include "belfry/base/log.h"
#include "belfry/loop/internal/callback_hook.h"
#include "belfry/loop/internal/run_record.h"
#include "belfry/loop/internal/state_key.h"
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
// `next` is what comes when the hook is complete: what is saved then says so.
void Trainer::call(const char* hook, Method method, const char* next, const RunPosition& from) {
  const std::exception_ptr error = turns(hook, method, from);
  if (error == nullptr && !cut_at_) hook_ = next;
  end_hook(error);
  if (cut_at_) end_if_stopped();
}

// An interruption that cuts a callback short ends the hook: the rest of it belongs to the run that continues this one.
std::exception_ptr Trainer::turns(const char* hook, Method method, const RunPosition& from) {
  std::exception_ptr error;
  in_hook_ = true;
  doing_ = hook;
  for (std::size_t i = first_turn(hook, from); i < callbacks_.size(); ++i) {
    Callback& callback = *callbacks_[i];
    const Turn end = turn(callback, hook, [&] { (callback.*method)(); }, error);
    if (end == Turn::stopped && save_at_end_) cut(hook, i);
    if (end == Turn::failed || cut_at_) break;
  }
  return error;
}

// Whose turn is the first in a hook that a continued run completes. Those before it defer again what they had deferred.
std::size_t Trainer::first_turn(const char* hook, const RunPosition& from) {
  if (from.hook != hook || from.callback.empty()) return 0;
  const auto key = [this](std::size_t i) { return state_key(*this, i); };
  std::size_t first = 0;
  while (first < callbacks_.size() && key(first) != from.callback) ++first;
  if (first == callbacks_.size()) {
    log_warning(
        fmt::format("[Trainer] expected '{}', at which {} of the continued run was interrupted, got other "
                    "callbacks: {} begins again.",
                    from.callback, hook, hook));
    return 0;
  }
  for (std::size_t i = 0; i < first; ++i) {
    if (std::ranges::find(from.deferred, key(i)) == from.deferred.end()) continue;
    called_ = &*callbacks_[i];
    callbacks_[i]->defer_again();
  }
  return first;
}

void Trainer::cut(const char* hook, std::size_t turn) {
  hook_ = hook;
  cut_at_ = turn;
  for (std::size_t i = 0; i < turn; ++i)
    for (const std::vector<Deferred>* list : {&decisions_, &postponed_})
      if (std::ranges::find(*list, &*callbacks_[i], &Deferred::by) != list->end()) {
        cut_deferred_.push_back(state_key(*this, i));
        break;
      }
  decisions_.clear();
  postponed_.clear();
}

// Nothing of an earlier run moves, and nothing is written, unless training really starts.
void Trainer::call_before_train() {
  std::exception_ptr error;
  in_hook_ = in_before_train_ = true;
  doing_ = "before_train";
  for (const Handle<Callback>& callback : callbacks_)
    if (turn(
            *callback, "before_train", [&] { wait_as(Waiter::step, [&] { callback->before_train(); }); }, error) ==
        Turn::failed)
      break;
  in_before_train_ = false;
  called_ = nullptr;
  const std::vector<Deferred> starts = std::exchange(starts_, {});
  const bool begins = error == nullptr && stop_ == nullptr && !stop_requested_;
  try {
    if (begins) begin_record();
  } catch (...) {
    error = std::current_exception();
  }
  if (!begins || error != nullptr) {
    decisions_.clear();
    postponed_.clear();
    return end_hook(error);
  }
  for (const auto& [callback, action] : starts)
    if (turn(*callback, "before_train", action, error) == Turn::failed) break;
  end_hook(error);
}

void Trainer::begin_record() {
  directories_->keep_previous_run();
  if (is_chief() && !files_dir_.empty()) record_ = std::make_unique<RunRecord>(*this, files_dir_, auto_resume_);
}

// What one callback does in a hook.
Trainer::Turn Trainer::turn(const Callback& callback, const char* hook, FunctionRef<void()> run,
                            std::exception_ptr& error) {
  called_ = &callback;
  try {
    run();
    return Turn::done;
  } catch (const std::exception& e) {
    if (is_clean_end(e)) {
      if (stop_ != nullptr)
        log_info(fmt::format("[{}] {} wants to stop training too: {}", callback.name(), hook, e.what()));
      else
        stop_ = std::current_exception();
      return Turn::stopped;
    }
    error = std::current_exception();
    if (rolls_back() && dynamic_cast<const NumericError*>(&e) != nullptr) return Turn::failed;  // training goes on
  } catch (...) {
    error = std::current_exception();
  }
  log_failed_hook(callback, hook);
  return Turn::failed;
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
    postponed_.push_back({called_, std::move(action)});
  else
    action();
}

void Trainer::decide_after_this_hook(std::function<void()> action) {
  if (in_hook_)
    decisions_.push_back({called_, std::move(action)});
  else
    action();
}

void Trainer::before_first_step(std::function<void()> action) {
  if (in_before_train_)
    starts_.push_back({called_, std::move(action)});
  else
    action();
}

// They run also after an error: what a saver was asked to save is saved.
void Trainer::run_postponed(std::vector<Deferred>& actions, std::exception_ptr& error) {
  for (const Deferred& deferred : std::exchange(actions, {})) {
    try {
      deferred.action();
    } catch (...) {
      keep_first(error, "Trainer", "what was deferred until then");
    }
  }
}

}  // namespace belfry
