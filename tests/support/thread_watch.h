// Checks whether threads are left over.
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <thread>

namespace belfry {

inline std::ptrdiff_t threads_of_this_process() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
}

class ThreadWatch {
 public:
  // A sanitizer starts its own thread along with the first: that one does not count.
  ThreadWatch() {
    std::thread([] {}).join();
    before_ = threads_of_this_process();
  }

  // Whether there are no more threads than at first. A joined one may still be listed for a moment, which is waited
  // for.
  bool none_left() const {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    while (threads_of_this_process() > before_) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::yield();
    }
    return true;
  }

 private:
  std::ptrdiff_t before_ = 0;
};

}  // namespace belfry
