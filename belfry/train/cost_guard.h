// A cost that is NaN or infinite does not pass in silence.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "belfry/base/mutex.h"
#include "belfry/graph/tensor.h"
#include "belfry/loop/callback.h"

namespace belfry {

// What follows when the cost of a step is not finite. The first such step of an epoch is a warning in any case.
enum class OnBadCost : std::uint8_t {
  warn,              // the epoch's end says how many there were, and training goes on
  stop_after_epoch,  // a NumericError when the steps of the epoch are done, before any trigger_epoch(): nothing is
                     // saved
  stop_now,          // a NumericError after the step
};

// The costs of an epoch that are not finite. Any thread may look at one.
class BadCosts {
 public:
  explicit BadCosts(OnBadCost then) : then_(then) {}
  void look(const std::string& name, double cost, std::int64_t step);
  void end_step() const;
  void end_epoch(int epoch);

 private:
  [[noreturn]] void stop() const BELFRY_REQUIRES(mutex_);

  const OnBadCost then_;
  mutable Mutex mutex_;
  std::int64_t count_ BELFRY_GUARDED_BY(mutex_) = 0;
  std::string first_ BELFRY_GUARDED_BY(mutex_);  // in words
};

// Fetches the costs, one a tower, along with every run of the trainer's train_op. SingleCostTrainer registers it.
class CostGuard final : public Callback {
 public:
  CostGuard(std::vector<Tensor> costs, std::shared_ptr<BadCosts> bad);
  HookRequest before_run(const RunContext& context) override;
  void after_run(const RunContext& context, const RunValues& values) override;
  void trigger_step() override { bad_->end_step(); }
  void after_epoch() override;
  bool declares_metrics() const override { return true; }
  bool chief_only() const override { return false; }

 private:
  std::vector<Fetch> costs_;
  std::shared_ptr<BadCosts> bad_;
};

}  // namespace belfry
