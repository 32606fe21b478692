#include "belfry/base/internal/gate.h"

#include <algorithm>

#include "belfry/base/check.h"
#include "belfry/base/internal/this_thread.h"

namespace belfry {

bool Gate::mine() const { return depth_ > 0 && owner_ == this_thread(); }

void Gate::check_outside() const {
  BELFRY_CHECK(
      std::ranges::find(inside_, this_thread()) == inside_.end(),
      "[session] expected no run from inside a run of a session with the same variables, got one. A kernel may "
      "use a session of its own graph.");
}

bool Gate::enter(const std::atomic<bool>& given_up) {
  const MutexLock lock(mutex_);
  if (mine()) {
    ++depth_;
    return true;
  }
  check_outside();
  while (depth_ > 0 || waiting_ > 0) {
    if (given_up) return false;
    changed_.wait(mutex_);
  }
  inside_.push_back(this_thread());
  return true;
}

void Gate::leave() {
  const MutexLock lock(mutex_);
  if (mine())
    --depth_;
  else
    inside_.erase(std::ranges::find(inside_, this_thread()));
  changed_.notify_all();
}

bool Gate::enter_alone(const std::atomic<bool>& given_up) {
  const MutexLock lock(mutex_);
  if (!mine()) {
    check_outside();
    const auto busy = [&]() BELFRY_REQUIRES(mutex_) { return depth_ > 0 || !inside_.empty(); };
    ++waiting_;
    while (!given_up && busy()) changed_.wait(mutex_);
    --waiting_;
    changed_.notify_all();
    if (busy()) return false;
    owner_ = this_thread();
  }
  ++depth_;
  return true;
}

void Gate::leave_alone() {
  const MutexLock lock(mutex_);
  --depth_;
  changed_.notify_all();
}

void Gate::wake() {
  const MutexLock lock(mutex_);
  changed_.notify_all();
}

}  // namespace belfry
