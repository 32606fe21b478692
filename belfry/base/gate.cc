#include "belfry/base/gate.h"

namespace belfry {

bool Gate::enter(const std::atomic<bool>& given_up) {
  const MutexLock lock(mutex_);
  if (mine()) {
    ++depth_;
    return true;
  }
  while (!given_up && (depth_ > 0 || waiting_ > 0)) changed_.wait(mutex_);
  if (given_up) return false;
  ++inside_;
  return true;
}

void Gate::leave() {
  const MutexLock lock(mutex_);
  if (mine())
    --depth_;
  else
    --inside_;
  changed_.notify_all();
}

void Gate::enter_alone() {
  const MutexLock lock(mutex_);
  if (!mine()) {
    ++waiting_;
    while (depth_ > 0 || inside_ > 0) changed_.wait(mutex_);
    --waiting_;
    owner_ = std::this_thread::get_id();
  }
  ++depth_;
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
