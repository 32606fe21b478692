// A bounded first-in first-out queue between threads, with an end, an error and an emergency exit.
//
//   BoundedQueue<int> queue(8);
//   producer:  while (...) if (!queue.push(value)) return;   // false: nobody wants it any more
//              queue.close();                                // or close(error)
//   consumer:  while (std::optional<int> value = queue.pop()) use(*value);
//
// close() is the producer's orderly end: what is queued is still delivered, then the error, if there is one, is thrown
// to exactly one pop(), and every other pop() returns nothing. cancel() is the consumer's: it drops what is queued and
// wakes everybody. Any number of threads may push and pop. Every wait ends with close() or cancel(); whoever owns the
// queue calls one of them before it joins the threads that use it.
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <exception>
#include <optional>
#include <utility>

#include "belfry/base/error.h"
#include "belfry/base/mutex.h"

#pragma GCC visibility push(default)
namespace belfry {

template <class T>
class BoundedQueue {
 public:
  explicit BoundedQueue(std::size_t capacity) : capacity_(capacity) {
    if (capacity == 0) throw Error("[queue] expected a capacity of at least 1, got 0.");
  }
  BoundedQueue(const BoundedQueue&) = delete;
  BoundedQueue& operator=(const BoundedQueue&) = delete;

  // Waits for room. False, and the value is dropped, if the queue is or becomes closed or cancelled, or if `given_up`
  // is or becomes true (see wake()).
  bool push(T value, const std::atomic<bool>* given_up = nullptr) {
    {
      MutexLock lock(mutex_);
      const auto unwanted = [&] { return given_up != nullptr && *given_up; };
      while (!closed_ && items_.size() >= capacity_ && !unwanted()) room_.wait(mutex_);
      if (closed_ || unwanted()) return false;
      items_.push_back(std::move(value));
    }
    filled_.notify_one();
    return true;
  }

  // Without waiting. False, and the value is left alone, if there is no room or the queue is closed or cancelled.
  bool try_push(T& value) {
    {
      MutexLock lock(mutex_);
      if (closed_ || items_.size() >= capacity_) return false;
      items_.push_back(std::move(value));
    }
    filled_.notify_one();
    return true;
  }

  // Puts back a value that was popped: it is the next one again, even if the queue is full or closed. Dropped if the
  // queue is cancelled.
  void push_front(T value) {
    {
      MutexLock lock(mutex_);
      if (cancelled_) return;
      items_.push_front(std::move(value));
    }
    filled_.notify_one();
  }

  // Waits for a value. Nothing once the queue is cancelled, or closed and empty; then throws close()'s error, once.
  // Nothing, too, if there is no value and `given_up` is or becomes true (see wake()).
  std::optional<T> pop(const std::atomic<bool>* given_up = nullptr) {
    std::optional<T> value;
    {
      MutexLock lock(mutex_);
      while (!closed_ && items_.empty() && !(given_up != nullptr && *given_up)) filled_.wait(mutex_);
      value = take_front();
    }
    if (value) room_.notify_one();
    return value;
  }

  // Without waiting: nothing, too, if there is no value yet.
  std::optional<T> try_pop() {
    std::optional<T> value;
    {
      MutexLock lock(mutex_);
      value = take_front();
    }
    if (value) room_.notify_one();
    return value;
  }

  // No more pushes. Only the first close counts; one after cancel() has no effect. Give the error's last reference
  // away: leave the handler that caught it first. Otherwise the exception may be destroyed here while the consumer has
  // just read it, which is legal, but ThreadSanitizer does not see the counter inside the standard library.
  void close(std::exception_ptr error = nullptr) {
    {
      MutexLock lock(mutex_);
      if (closed_) return;
      closed_ = true;
      error_ = std::move(error);
    }
    wake_all();
  }

  // Drops values and error, ends every wait, now and later.
  void cancel() {
    std::deque<T> dropped;  // destroyed outside the lock: a value's destructor may be slow
    std::exception_ptr error;
    {
      MutexLock lock(mutex_);
      closed_ = cancelled_ = true;
      dropped.swap(items_);
      error = std::exchange(error_, nullptr);
    }
    wake_all();
  }

  // Makes all threads that wait, for a value or for room, check again whether they should give up.
  void wake() {
    {
      const MutexLock lock(mutex_);
    }  // a thread that has already checked its flag is waiting by now
    wake_all();
  }

  // Drops values and error and leaves the queue open, reopening it if necessary; threads that wait for a value keep
  // waiting.
  void restart() {
    std::deque<T> dropped;  // destroyed outside the lock
    std::exception_ptr error;
    {
      MutexLock lock(mutex_);
      dropped.swap(items_);
      error = std::exchange(error_, nullptr);
      closed_ = cancelled_ = false;
    }
    room_.notify_all();
  }

  // Empty and open again. Only while no other thread uses the queue.
  void reopen() {
    cancel();
    MutexLock lock(mutex_);
    closed_ = cancelled_ = false;
  }

  bool closed() const {
    MutexLock lock(mutex_);
    return closed_;
  }
  bool cancelled() const {
    MutexLock lock(mutex_);
    return cancelled_;
  }
  std::size_t size() const {
    MutexLock lock(mutex_);
    return items_.size();
  }
  std::size_t capacity() const { return capacity_; }

 private:
  std::optional<T> take_front() BELFRY_REQUIRES(mutex_) {
    std::optional<T> value;
    if (items_.empty()) {
      if (error_ != nullptr) std::rethrow_exception(std::exchange(error_, nullptr));
      return value;
    }
    value.emplace(std::move(items_.front()));
    items_.pop_front();
    return value;
  }

  void wake_all() {
    room_.notify_all();
    filled_.notify_all();
  }

  const std::size_t capacity_;
  mutable Mutex mutex_;
  Condition room_;    // signalled when a value leaves, or at the end
  Condition filled_;  // signalled when a value arrives, or at the end
  std::deque<T> items_ BELFRY_GUARDED_BY(mutex_);
  std::exception_ptr error_ BELFRY_GUARDED_BY(mutex_);
  bool closed_ BELFRY_GUARDED_BY(mutex_) = false;
  bool cancelled_ BELFRY_GUARDED_BY(mutex_) = false;
};

}  // namespace belfry
#pragma GCC visibility pop
