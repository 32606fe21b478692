// Reports costs that are NaN or infinite.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "belfry/base/mutex.h"
#include "belfry/graph/location.h"
#include "belfry/graph/tensor.h"
#include "belfry/loop/callback.h"

#pragma GCC visibility push(default)
namespace belfry {

// What happens when the cost of a step is not finite. The first such step of an epoch always gives a warning.
enum class OnBadCost : std::uint8_t {
  warn,              // a count at the end of the epoch; training continues
  stop_after_epoch,  // a NumericError when the steps of the epoch are done, before any trigger_epoch(): nothing is
                     // saved
  stop_now,          // a NumericError after the step
  roll_back,         // after the step, training returns to its last checkpoint and goes on with the data that come
                     // next; any other NumericError of a step does the same. Needs a ModelSaver; not for asynchronous
                     // trainers. Three times to the same checkpoint end training
};

// The costs of an epoch that are not finite. Any thread may check one.
class BadCosts {
 public:
  explicit BadCosts(OnBadCost then) : then_(then) {}
  void look(const std::string& name, double cost, std::int64_t step);
  void end_step();
  void end_epoch(int epoch);

 private:
  [[noreturn]] void stop() BELFRY_REQUIRES(mutex_);

  const OnBadCost then_;
  mutable Mutex mutex_;
  std::int64_t count_ BELFRY_GUARDED_BY(mutex_) = 0;
  std::string first_ BELFRY_GUARDED_BY(mutex_);  // as text
};

// The costs that an operation lowers.
struct WatchedCosts {
  Operation step{};  // what a run that minimises them runs; empty: the trainer's train_op
  std::vector<Tensor> costs{};
};

// Fetches costs in every hooked run of their step, and checks them. SingleCostTrainer registers one; other trainers say
// what to watch:
//
//   register_callback(CostGuard({{d_min, {d_loss}}, {g_min, {g_loss}}}));
class CostGuard final : public Callback {
 public:
  explicit CostGuard(std::vector<WatchedCosts> watched, OnBadCost then = OnBadCost::stop_after_epoch,
                     const Location& where = Location::current());
  // `bad` also counts costs that others check.
  CostGuard(std::vector<WatchedCosts> watched, std::shared_ptr<BadCosts> bad,
            const Location& where = Location::current());
  HookRequest before_run(const RunContext& context) override;
  void after_run(const RunContext& context, const RunValues& values) override;
  void trigger_step() override { bad_->end_step(); }
  void after_epoch() override;
  bool declares_metrics() const override { return true; }
  bool chief_only() const override { return false; }

 private:
  std::vector<WatchedCosts> watched_;
  std::shared_ptr<BadCosts> bad_;
  std::vector<Tensor> asked_;  // in the current run
};

}  // namespace belfry
#pragma GCC visibility pop
