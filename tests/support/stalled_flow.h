// A flow whose data do not come.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "belfry/base/mutex.h"
#include "belfry/dataflow/dataflow.h"

namespace belfry::testing_support {

struct StalledOptions {
  DataPoint point{};
  int points = 0;                     // this many come, and then none, forever
  std::function<void()> on_wait{};    // called when something waits for the next one
  std::function<void()> on_cancel{};  // called by it when the wait was cancelled; may throw
};

class StalledFlow final : public DataFlow {
 public:
  explicit StalledFlow(StalledOptions options) : options_(std::move(options)) {}
  void start_epoch(std::uint64_t) override {}
  std::optional<DataPoint> next() override {
    if (given_++ < options_.points) return options_.point;
    if (options_.on_wait) options_.on_wait();
    {
      const MutexLock lock(mutex_);
      while (!cancelled_) changed_.wait(mutex_);
    }
    if (options_.on_cancel) options_.on_cancel();
    throw Cancelled("[stalled] the wait was cancelled");
  }
  std::uint64_t epoch() const override { return 0; }
  std::optional<std::int64_t> size() const override { return options_.points + 1; }
  std::string describe() const override { return "stalled"; }
  void cancel() override {
    const MutexLock lock(mutex_);
    cancelled_ = true;
    changed_.notify_all();
  }
  FlowState state() const override { return {"stalled", {}, {}}; }
  void restore(const FlowState&) override {}

 private:
  StalledOptions options_;
  int given_ = 0;
  Mutex mutex_;
  Condition changed_;
  bool cancelled_ BELFRY_GUARDED_BY(mutex_) = false;
};

}  // namespace belfry::testing_support
