#include "belfry/train/cost_guard.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "belfry/base/check.h"
#include "belfry/base/internal/exact_number.h"
#include "belfry/base/log.h"
#include "belfry/loop/trainer.h"

namespace belfry {
namespace {

bool runs(const Fetch& fetch, const Operation& step) {
  if (fetch.operation()) return fetch.operation() == step;
  if (fetch.tensor()) return Operation(fetch.tensor()) == step;
  return fetch.name() == step.name();
}

}  // namespace

void BadCosts::look(const std::string& name, double cost, std::int64_t step) {
  if (std::isfinite(cost)) return;
  const MutexLock lock(mutex_);
  if (++count_ > 1) return;
  first_ = fmt::format("{} for '{}' at step {}", without_sign_of_nan(cost), name, step);
  log_warning(
      fmt::format("[CostGuard] expected a finite cost, got {}. Further ones in this epoch are only counted.", first_));
}

void BadCosts::stop() {
  const std::int64_t count = std::exchange(count_, 0);
  fail<NumericError>(
      "[CostGuard] expected finite costs, got {}{}. Lower the learning rate, clip the gradients, or check the data of "
      "that step; check_gradient() names the variable. With OnBadCost::warn (.on_bad_cost) training continues.",
      first_, count == 1 ? "" : fmt::format(", and {} more in the same epoch", count - 1));
}

void BadCosts::end_step() {
  if (then_ != OnBadCost::stop_now && then_ != OnBadCost::roll_back) return;
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

CostGuard::CostGuard(std::vector<WatchedCosts> watched, OnBadCost then, const Location& where)
    : CostGuard(std::move(watched), std::make_shared<BadCosts>(then), where) {}

CostGuard::CostGuard(std::vector<WatchedCosts> watched, std::shared_ptr<BadCosts> bad, const Location& where)
    : watched_(std::move(watched)), bad_(std::move(bad)) {
  for (const WatchedCosts& item : watched_)
    for (const Tensor& cost : item.costs)
      BELFRY_CHECK(
          cost && cost.rank() == 0 && is_float(cost.dtype()),
          "[CostGuard] expected scalar floats as costs, got {} (at {}). Reduce it first, with reduce_mean() say.",
          cost ? to_string(cost) : "an empty tensor", to_string(where));
}

// Only in those runs: another might not need the input, and would then take a point only for the cost.
HookRequest CostGuard::before_run(const RunContext& context) {
  asked_.clear();
  for (const auto& [step, costs] : watched_) {
    const Operation& trains = step ? step : trainer().train_op;
    if (trains && std::ranges::any_of(context.fetches, [&](const Fetch& fetch) { return runs(fetch, trains); }))
      asked_.insert(asked_.end(), costs.begin(), costs.end());
  }
  return {.fetches = {asked_.begin(), asked_.end()}};
}

// Called before the step counter's: this run is not counted yet.
void CostGuard::after_run(const RunContext&, const RunValues& values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double cost = values[i].item();
    if (!std::isfinite(cost)) bad_->look(asked_[i].name(), cost, trainer().global_step() + 1);
  }
}

// Called when all towers have reported their costs of the epoch.
void CostGuard::after_epoch() {
  trainer().decide_after_this_hook([this] { bad_->end_epoch(trainer().epoch_num()); });
}

}  // namespace belfry
