// The thread of one testing device: runs what it is given, one after the other.
#pragma once

#include <deque>
#include <functional>

#include "belfry/base/internal/start_thread.h"
#include "belfry/base/mutex.h"

namespace belfry {

class FarThread {
 public:
  FarThread() : thread_(start_thread([this] { serve(); })) {}
  ~FarThread() {
    {
      const MutexLock lock(mutex_);
      stop_ = true;
    }
    wake_.notify_all();
    thread_.join();
  }
  FarThread(const FarThread&) = delete;
  FarThread& operator=(const FarThread&) = delete;

  void post(std::function<void()> work) {
    {
      const MutexLock lock(mutex_);
      waiting_.push_back(std::move(work));
    }
    wake_.notify_all();
  }

 private:
  void serve() {
    while (const std::function<void()> work = next()) work();
  }
  std::function<void()> next() {
    const MutexLock lock(mutex_);
    while (waiting_.empty() && !stop_) wake_.wait(mutex_);
    if (waiting_.empty()) return {};
    std::function<void()> work = std::move(waiting_.front());
    waiting_.pop_front();
    return work;
  }

  Mutex mutex_;
  Condition wake_;
  std::deque<std::function<void()>> waiting_ BELFRY_GUARDED_BY(mutex_);
  bool stop_ BELFRY_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // declared last: it uses the others
};

}  // namespace belfry
