// The end of training by request, and the waits that it ends.
#include <fmt/format.h>

#include <utility>

#include "belfry/base/stop_training.h"
#include "belfry/loop/trainer.h"

namespace belfry {

void Trainer::request_stop(std::string reason, bool save) {
  const MutexLock lock(stop_mutex_);
  if (save) save_at_end_ = true;
  if (!stop_requested_) stop_reason_ = std::move(reason);
  stop_requested_ = true;
  if (must_stop(waiter_)) interrupt();
}

// Under the lock, so that the wait has not ended when it is told to give up.
void Trainer::interrupt() {
  session_->interrupt();
  if (give_up_ != nullptr) (*give_up_)();
}

std::string Trainer::activity() const {
  const Callback* const callback = called_;
  return callback == nullptr ? std::string(doing_) : fmt::format("{} of {}", doing_.load(), callback->name());
}

// No further step begins. Callbacks of a finished epoch may continue with data of their own, unless it is an
// interruption.
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

// Before the first epoch nothing is finished that a callback should still be allowed to complete.
void Trainer::run_interruptibly(FunctionRef<void()> run) {
  run_as(epoch_num_ < starting_epoch_ ? Waiter::step : Waiter::callback, run);
}

// A stop that is requested before the run begins keeps it from beginning; a later one ends its wait for data.
void Trainer::run_as(Waiter waiter, FunctionRef<void()> run) {
  wait_as(waiter, [&] {
    check_stop(waiter);
    run();
  });
}

// The same for a run that begins in any case.
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
    interrupt();  // also a step that continues after a callback that could wait
  else if (stop_requested_)
    session_->forget_interrupt();  // it was for the step: a callback in it may continue
  return std::exchange(waiter_, waiter);
}

}  // namespace belfry
