#include <utility>

#include "belfry/base/check.h"
#include "belfry/dataflow/claimed_flow.h"
#include "belfry/dataflow/repeat.h"
#include "belfry/input/flow_inputs.h"
#include "belfry/loop/trainer.h"
#include "belfry/ops/basic.h"

namespace belfry {

struct FeedInput::State {
  ClaimedFlow flow;
  std::optional<std::int64_t> size;
  std::string name{};  // for messages
  std::vector<TensorSpec> signature{};
  Location where{};  // of the call that set it up
  Tensors placeholders{};
  FlowState consumed{};              // after the last point of a finished run
  std::optional<DataPoint> first{};  // if it was read before the first run, which then gets it
};

namespace {

class FeedCallback final : public Callback {
 public:
  explicit FeedCallback(std::shared_ptr<FeedInput::State> state) : state_(std::move(state)) {}

  HookRequest before_run(const RunContext&) override {
    if (state_->placeholders.empty()) return {};
    const std::optional<DataPoint> point = state_->first ? std::exchange(state_->first, {}) : next();
    if (!point) throw EndOfData("[FeedInput] expected a point, got the end of the data");
    check_point(state_->name, state_->signature, *point, state_->where);
    HookRequest out;
    for (std::size_t i = 0; i < point->size(); ++i) out.feeds.emplace_back(state_->placeholders[i], (*point)[i]);
    return out;
  }
  void after_run(const RunContext&, const RunValues&) override { state_->consumed = state_->flow->state(); }

  bool holds_data_position() const override { return true; }
  std::string state() const override { return to_string(state_->consumed); }
  void restore(const std::string& state) override {
    state_->consumed = flow_state_from_string(state);
    state_->flow->restore(state_->consumed);
    state_->first.reset();
  }
  bool declares_metrics() const override { return true; }
  bool chief_only() const override { return false; }
  std::string name() const override { return "FeedInput"; }

 private:
  std::optional<DataPoint> next() {
    std::optional<DataPoint> out;
    trainer().wait_interruptibly([&] { out = state_->flow->next(); }, [&] { state_->flow->cancel(); });
    return out;
  }
  std::shared_ptr<FeedInput::State> state_;
};

}  // namespace

FeedInput::FeedInput(Flow flow, FlowInputOptions options) {
  const std::optional<std::int64_t> size = flow.size();
  if (options.infinite) flow = std::move(flow) | repeat();
  state_ = std::make_shared<State>(State{.flow = ClaimedFlow(std::move(flow), "FeedInput"), .size = size});
  state_->consumed = state_->flow->state();
}

std::optional<std::int64_t> FeedInput::size() const { return state_->size; }

bool FeedInput::endless() const { return state_->flow->endless(); }

void FeedInput::check_first_point() {
  if (state_->first) return;
  state_->first = state_->flow->next();
  check_first(title(), signature(), state_->first, where());
}

void FeedInput::cancel_check() { state_->flow->cancel(); }

void FeedInput::reset_state() {
  state_->flow->start_epoch(0);
  state_->first.reset();
  state_->consumed = state_->flow->state();
}

Callbacks FeedInput::make_callbacks() {
  state_->name = title();
  state_->where = where();
  state_->signature = signature();
  return {FeedCallback(state_)};
}

Tensors FeedInput::make_tensors() {
  BELFRY_CHECK(
      state_->placeholders.empty(),
      "[FeedInput] expected one tower, got a second one. Use QueueInput, from which each tower takes its own points.");
  for (const TensorSpec& spec : signature()) state_->placeholders.push_back(placeholder(spec, where()));
  return state_->placeholders;
}

}  // namespace belfry
