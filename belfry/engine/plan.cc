#include "belfry/engine/plan.h"

#include <exception>
#include <thread>

#include "belfry/base/check.h"
#include "belfry/base/mutex.h"
#include "belfry/engine/device_team.h"

namespace belfry {
namespace {

// Of several streams.
class FirstError {
 public:
  void keep(std::exception_ptr error) {
    const MutexLock lock(mutex_);
    if (!error_) error_ = std::move(error);
  }
  void rethrow() {
    const MutexLock lock(mutex_);
    if (error_) std::rethrow_exception(error_);
  }

 private:
  Mutex mutex_;
  std::exception_ptr error_ BELFRY_GUARDED_BY(mutex_);
};

}  // namespace

void Plan::run(const Step& step, const std::vector<const void*>& feeds, const std::vector<void*>& results,
               DeviceTeam& team, Profiler* profiler) {
  std::ranges::copy(feeds, feed_slots_.begin());
  std::ranges::copy(results, fetch_slots_.begin());
  ++runs_;
  if (streams_.size() > 1) return run_streams(step, team, profiler);
  std::exception_ptr error;
  team.run(1, [&](int) {
    try {
      run_stream(0, step, profiler);
    } catch (...) {
      error = std::current_exception();
    }
  });
  if (error) std::rethrow_exception(error);
}

void Plan::run_stream(int device, const Step& step, Profiler* profiler) {
  for (int index : streams_[static_cast<std::size_t>(device)]) {
    const Instruction& instruction = instructions_[static_cast<std::size_t>(index)];
    for (int before : instruction.waits)
      while (events_[static_cast<std::size_t>(before)].load(std::memory_order_acquire) != runs_) {
        if (failed_.load(std::memory_order_relaxed)) return;
        std::this_thread::yield();
      }
    if (profiler == nullptr) {
      instruction.kernel->run(step);
    } else {
      const std::int64_t begin = Profiler::now();
      instruction.kernel->run(step);
      const IrNode& node = ir_.node(instruction.node);
      profiler->record({node.origin->name, node.op, device, instruction.kernel->is_dnnl(), begin, Profiler::now()});
    }
    if (instruction.signals) events_[static_cast<std::size_t>(index)].store(runs_, std::memory_order_release);
  }
}

// An exception in one stream poisons the waits of all others and reaches the caller.
void Plan::run_streams(const Step& step, DeviceTeam& team, Profiler* profiler) {
  FirstError error;
  failed_ = false;
  team.run(static_cast<int>(streams_.size()), [&](int device) {
    try {
      run_stream(device, step, profiler);
    } catch (...) {
      error.keep(std::current_exception());
      failed_ = true;
    }
  });
  error.rethrow();
}

}  // namespace belfry
