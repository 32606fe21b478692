#include "belfry/loop/internal/callback_hook.h"

#include <fmt/core.h>

#include "belfry/base/log.h"
#include "belfry/loop/trainer.h"

namespace belfry {
namespace {

// Calls `run`, and logs which callback's it was if it fails: the end of training, or an interrupted wait, is not a
// failure.
template <class Run>
auto logging_failures(const Callback& callback, std::string_view hook, Run&& run) {
  try {
    return run();
  } catch (const Cancelled&) {
    throw;
  } catch (const std::exception& error) {
    if (!is_clean_end(error)) log_failed_hook(callback, hook);
    throw;
  }
}

class CallbackHook final : public SessionHook {
 public:
  explicit CallbackHook(Handle<Callback> callback) : callback_(std::move(callback)) {}
  HookRequest before_run(const RunContext& context) override {
    return logging_failures(*callback_, "before_run", [&] {
      HookRequest out = callback_->before_run(context);
      for (Fetch& fetch : out.fetches)
        if (!fetch.name().empty()) fetch = resolved(fetch, callback_->trainer());
      return out;
    });
  }
  void after_run(const RunContext& context, const RunValues& values) override {
    logging_failures(*callback_, "after_run", [&] { callback_->after_run(context, values); });
  }
  std::string name() const override { return callback_->name(); }

 private:
  Handle<Callback> callback_;
};

}  // namespace

void log_failed_hook(const Callback& callback, std::string_view hook) {
  const Trainer& trainer = callback.trainer();
  log_error(fmt::format("[{}] {} failed in epoch {}, at global_step {}: its error ends the training.", callback.name(),
                        hook, trainer.epoch_num(), trainer.global_step()));
}

Fetch resolved(const Fetch& fetch, const Trainer& trainer) {
  if (fetch.name().empty() || trainer.graph().has_name(fetch.name())) return fetch;
  return trainer.get_tensor(fetch.name());
}

std::vector<std::shared_ptr<SessionHook>> hooks_of(const Callbacks& callbacks) {
  std::vector<std::shared_ptr<SessionHook>> out;
  for (const Handle<Callback>& callback : callbacks) out.push_back(std::make_shared<CallbackHook>(callback));
  return out;
}

}  // namespace belfry
