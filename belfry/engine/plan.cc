#include "belfry/engine/plan.h"

#include <exception>
#include <mutex>
#include <thread>

#include "belfry/base/check.h"
#include "belfry/engine/device_team.h"

namespace belfry {

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
  std::mutex mutex;
  std::exception_ptr error;
  failed_ = false;
  team.run(static_cast<int>(streams_.size()), [&](int device) {
    try {
      run_stream(device, step, profiler);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!error) error = std::current_exception();
      failed_ = true;
    }
  });
  if (error) std::rethrow_exception(error);
}

}  // namespace belfry
