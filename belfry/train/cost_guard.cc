#include "belfry/train/cost_guard.h"

#include <algorithm>
#include <cmath>

#include "belfry/base/check.h"
#include "belfry/base/exact_number.h"
#include "belfry/base/log.h"
#include "belfry/loop/trainer.h"

namespace belfry {

void BadCosts::look(const std::string& name, double cost, std::int64_t step) {
  if (std::isfinite(cost)) return;
  const MutexLock lock(mutex_);
  if (++count_ > 1) return;
  first_ = fmt::format("{} for '{}' at step {}", without_sign_of_nan(cost), name, step);
  log_warning(
      fmt::format("[CostGuard] expected a finite cost, got {}. Further ones in this epoch are only counted.", first_));
}

void BadCosts::stop() const {
  fail<NumericError>(
      "[CostGuard] expected finite costs, got {}{}. Lower the learning rate, clip the gradients, or look at the data "
      "of "
      "that step; check_gradient() names the variable. With .on_bad_cost = OnBadCost::warn training goes on.",
      first_, count_ == 1 ? "" : fmt::format(", and {} more in the same epoch", count_ - 1));
}

void BadCosts::end_step() const {
  if (then_ != OnBadCost::stop_now) return;
  const MutexLock lock(mutex_);
  if (count_ > 0) stop();
}

void BadCosts::end_epoch(int epoch) {
  const MutexLock lock(mutex_);
  if (count_ == 0) return;
  if (then_ != OnBadCost::warn) stop();
  log_warning(fmt::format("[CostGuard] epoch {} had {} cost{} that {} not finite, the first: {}.", epoch, count_,
                          count_ == 1 ? "" : "s", count_ == 1 ? "was" : "were", first_));
  count_ = 0;
}

CostGuard::CostGuard(std::vector<Tensor> costs, std::shared_ptr<BadCosts> bad)
    : costs_(costs.begin(), costs.end()), bad_(std::move(bad)) {}

// Runs of something else might not need the input, and would then take a point for the cost alone.
HookRequest CostGuard::before_run(const RunContext& context) {
  const bool trains = std::ranges::any_of(
      context.fetches, [&](const Fetch& f) { return f.operation() && f.operation() == trainer().train_op; });
  if (!trains) return {};
  return {.fetches = costs_};
}

// Called before the step counter's: this run is not counted yet.
void CostGuard::after_run(const RunContext&, const RunValues& values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double cost = values[i].item();
    if (!std::isfinite(cost)) bad_->look(costs_[i].tensor().name(), cost, trainer().global_step() + 1);
  }
}

// When all have put what they know of the epoch.
void CostGuard::after_epoch() {
  trainer().decide_after_this_hook([this] { bad_->end_epoch(trainer().epoch_num()); });
}

}  // namespace belfry
