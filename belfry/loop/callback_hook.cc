#include "belfry/loop/callback_hook.h"

#include "belfry/loop/trainer.h"

namespace belfry {
namespace {

class CallbackHook final : public SessionHook {
 public:
  explicit CallbackHook(Handle<Callback> callback) : callback_(std::move(callback)) {}
  HookRequest before_run(const RunContext& context) override {
    HookRequest out = callback_->before_run(context);
    for (Fetch& fetch : out.fetches)
      if (!fetch.name().empty()) fetch = resolved(fetch, callback_->trainer());
    return out;
  }
  void after_run(const RunContext& context, const RunValues& values) override { callback_->after_run(context, values); }
  std::string name() const override { return callback_->name(); }

 private:
  Handle<Callback> callback_;
};

}  // namespace

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
