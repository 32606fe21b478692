// A mutex, its lock and a condition variable that clang's thread-safety analysis (-Wthread-safety) understands: the
// standard library's are not annotated. Members say what guards them: `int size_ BELFRY_GUARDED_BY(mutex_) = 0;`
#pragma once

#include <condition_variable>
#include <mutex>

#if defined(__clang__)
#define BELFRY_THREAD_ATTRIBUTE(x) __attribute__((x))
#else
#define BELFRY_THREAD_ATTRIBUTE(x)
#endif
#define BELFRY_GUARDED_BY(mutex) BELFRY_THREAD_ATTRIBUTE(guarded_by(mutex))
#define BELFRY_REQUIRES(mutex) BELFRY_THREAD_ATTRIBUTE(requires_capability(mutex))

#pragma GCC visibility push(default)
namespace belfry {

template <class Standard>
class BELFRY_THREAD_ATTRIBUTE(capability("mutex")) AnnotatedMutex {
 public:
  void lock() BELFRY_THREAD_ATTRIBUTE(acquire_capability()) { mutex_.lock(); }
  void unlock() BELFRY_THREAD_ATTRIBUTE(release_capability()) { mutex_.unlock(); }

 private:
  friend class Condition;
  Standard mutex_;
};
using Mutex = AnnotatedMutex<std::mutex>;
using RecursiveMutex = AnnotatedMutex<std::recursive_mutex>;  // its holder may lock it again, in another function

// Holds a mutex until the end of the scope.
template <class AnyMutex>
class BELFRY_THREAD_ATTRIBUTE(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(AnyMutex& mutex) BELFRY_THREAD_ATTRIBUTE(acquire_capability(mutex)) : mutex_(mutex) {
    mutex_.lock();
  }
  ~MutexLock() BELFRY_THREAD_ATTRIBUTE(release_capability()) { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  AnyMutex& mutex_;
};

class Condition {
 public:
  // Gives the mutex up while waiting and holds it again on return. May return without cause: wait in a loop.
  void wait(Mutex& mutex) BELFRY_REQUIRES(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    condition_.wait(lock);
    lock.release();
  }
  void notify_one() { condition_.notify_one(); }
  void notify_all() { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

}  // namespace belfry
#pragma GCC visibility pop
