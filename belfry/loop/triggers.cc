#include "belfry/loop/triggers.h"

#include "belfry/base/check.h"
#include "belfry/loop/trainer.h"

namespace belfry {
namespace {

bool due(std::int64_t count, std::int64_t period) { return period > 0 && count % period == 0; }

}  // namespace

ProxyCallback::ProxyCallback(Handle<Callback> callback) : callback_(std::move(callback)) {
  BELFRY_CHECK(static_cast<bool>(callback_), "[ProxyCallback] expected a callback, got an empty handle.");
}

void ProxyCallback::attach(Trainer& trainer) {
  Callback::attach(trainer);
  wrapped().attach(trainer);
}

PeriodicTrigger::PeriodicTrigger(Handle<Callback> callback, TriggerPeriod period)
    : ProxyCallback(std::move(callback)), period_(period) {
  BELFRY_CHECK(period.every_k_steps >= 0 && period.every_k_epochs >= 0,
               "[PeriodicTrigger] expected periods of 0 or more, got {} steps and {} epochs.", period.every_k_steps,
               period.every_k_epochs);
  BELFRY_CHECK(
      period.every_k_steps > 0 || period.every_k_epochs > 0 || period.before_train,
      "[PeriodicTrigger] expected a time to trigger '{}', got none. Set every_k_steps, every_k_epochs or before_train.",
      name());
}

void PeriodicTrigger::before_train() {
  ProxyCallback::before_train();
  if (!period_.before_train || trainer().is_continued()) return;
  if (wrapped().writes().empty())
    wrapped().trigger();
  else
    trainer().before_first_step([this] { wrapped().trigger(); });
}

void PeriodicTrigger::trigger_step() {
  ProxyCallback::trigger_step();
  if (trainer().every_k_steps(period_.every_k_steps)) wrapped().trigger();
}

void PeriodicTrigger::trigger_epoch() {
  if (due(trainer().epoch_num(), period_.every_k_epochs)) wrapped().trigger();
}

PeriodicRunHooks::PeriodicRunHooks(Handle<Callback> callback, std::int64_t every_k_steps)
    : ProxyCallback(std::move(callback)), period_(every_k_steps) {
  BELFRY_CHECK(every_k_steps >= 1, "[PeriodicRunHooks] expected a period of 1 or more, got {}.", every_k_steps);
}

HookRequest PeriodicRunHooks::before_run(const RunContext& context) {
  active_ = due(trainer().global_step() + 1, period_);
  return active_ ? ProxyCallback::before_run(context) : HookRequest{};
}

void PeriodicRunHooks::after_run(const RunContext& context, const RunValues& values) {
  if (active_) ProxyCallback::after_run(context, values);
}

EnableCallbackIf::EnableCallbackIf(Handle<Callback> callback, std::function<bool(Trainer&)> enabled)
    : ProxyCallback(std::move(callback)), condition_(std::move(enabled)) {
  BELFRY_CHECK(condition_ != nullptr, "[EnableCallbackIf] expected a function for '{}', got none.", name());
}

bool EnableCallbackIf::enabled() const { return condition_(trainer()); }

void EnableCallbackIf::before_epoch() {
  if (enabled()) ProxyCallback::before_epoch();
}
void EnableCallbackIf::resume_epoch() {
  if (enabled()) ProxyCallback::resume_epoch();
}
HookRequest EnableCallbackIf::before_run(const RunContext& context) {
  active_ = enabled();
  return active_ ? ProxyCallback::before_run(context) : HookRequest{};
}
void EnableCallbackIf::after_run(const RunContext& context, const RunValues& values) {
  if (active_) ProxyCallback::after_run(context, values);
}
void EnableCallbackIf::trigger_step() {
  if (enabled()) ProxyCallback::trigger_step();
}
void EnableCallbackIf::after_epoch() {
  if (enabled()) ProxyCallback::after_epoch();
}
void EnableCallbackIf::trigger_epoch() {
  if (enabled()) ProxyCallback::trigger_epoch();
}
void EnableCallbackIf::trigger() {
  if (enabled()) ProxyCallback::trigger();
}

PeriodicCallback::PeriodicCallback(Handle<Callback> callback, int every_k_epochs)
    : EnableCallbackIf(std::move(callback),
                       [every_k_epochs](Trainer& trainer) { return trainer.epoch_num() % every_k_epochs == 0; }) {
  BELFRY_CHECK(every_k_epochs >= 1, "[PeriodicCallback] expected a period of 1 or more, got {}.", every_k_epochs);
}

}  // namespace belfry
