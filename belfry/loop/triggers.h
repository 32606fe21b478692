// Wrappers that change when a callback acts. Each passes everything else on.
//
//   PeriodicTrigger(ModelSaver(), {.every_k_epochs = 5})
//   PeriodicTrigger(InferenceRunner(...), {.every_k_steps = 1000, .every_k_epochs = 1})
#pragma once

#include <cstdint>
#include <functional>

#include "belfry/loop/callback.h"

#pragma GCC visibility push(default)
namespace belfry {

// Passes everything on to another callback.
class ProxyCallback : public Callback {
 public:
  explicit ProxyCallback(Handle<Callback> callback);

  void attach(Trainer& trainer) override;
  void setup_graph() override { wrapped().setup_graph(); }
  void before_train() override { wrapped().before_train(); }
  void before_epoch() override { wrapped().before_epoch(); }
  void resume_epoch() override { wrapped().resume_epoch(); }
  HookRequest before_run(const RunContext& context) override { return wrapped().before_run(context); }
  void after_run(const RunContext& context, const RunValues& values) override { wrapped().after_run(context, values); }
  void trigger_step() override { wrapped().trigger_step(); }
  void after_epoch() override { wrapped().after_epoch(); }
  void trigger_epoch() override { wrapped().trigger_epoch(); }
  void trigger() override { wrapped().trigger(); }
  void after_train() override { wrapped().after_train(); }
  std::string state() const override { return callback_->state(); }
  void restore(const std::string& state) override { wrapped().restore(state); }
  void defer_again() override { wrapped().defer_again(); }
  bool holds_data_position() const override { return callback_->holds_data_position(); }
  void save_now() override { wrapped().save_now(); }
  void finish_saves() override { wrapped().finish_saves(); }
  std::vector<Written> writes() const override { return callback_->writes(); }
  bool declares_metrics() const override { return callback_->declares_metrics(); }
  bool chief_only() const override { return callback_->chief_only(); }
  std::string name() const override { return callback_->name(); }

 protected:
  Callback& wrapped() const { return *callback_; }

 private:
  Handle<Callback> callback_;
};

struct TriggerPeriod {
  std::int64_t every_k_steps = 0;  // of global_step (see Trainer::every_k_steps()); 0: not by steps
  int every_k_epochs = 0;          // of epoch_num; 0: not by epochs
  bool before_train = false;       // once, before the first step; not again when the run is continued
};
// Calls trigger() at other times than once an epoch. The callback's own trigger_epoch() is not called.
class PeriodicTrigger final : public ProxyCallback {
 public:
  PeriodicTrigger(Handle<Callback> callback, TriggerPeriod period);
  void before_train() override;
  void trigger_step() override;
  void trigger_epoch() override;

 private:
  TriggerPeriod period_;
};

// before_run() and after_run() only in every k-th hooked run.
class PeriodicRunHooks final : public ProxyCallback {
 public:
  PeriodicRunHooks(Handle<Callback> callback, std::int64_t every_k_steps);
  HookRequest before_run(const RunContext& context) override;
  void after_run(const RunContext& context, const RunValues& values) override;

 private:
  std::int64_t period_;
  bool active_ = false;
};

// Does nothing between before_train() and after_train(), except while the function returns true. It is called before
// each epoch, run, step trigger, epoch trigger, and trigger() of a wrapper around it.
class EnableCallbackIf : public ProxyCallback {
 public:
  EnableCallbackIf(Handle<Callback> callback, std::function<bool(Trainer&)> enabled);
  void before_epoch() override;
  void resume_epoch() override;
  HookRequest before_run(const RunContext& context) override;
  void after_run(const RunContext& context, const RunValues& values) override;
  void trigger_step() override;
  void after_epoch() override;
  void trigger_epoch() override;
  void trigger() override;

 private:
  bool enabled() const;
  std::function<bool(Trainer&)> condition_;
  bool active_ = false;  // in the current run
};

// Enabled in every k-th epoch only.
class PeriodicCallback final : public EnableCallbackIf {
 public:
  PeriodicCallback(Handle<Callback> callback, int every_k_epochs);
};

}  // namespace belfry
#pragma GCC visibility pop
