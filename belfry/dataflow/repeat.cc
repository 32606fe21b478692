#include "belfry/dataflow/repeat.h"

#include "belfry/base/check.h"
#include "belfry/base/log.h"
#include "belfry/dataflow/cancel_flag.h"
#include "belfry/dataflow/stage_flow.h"

namespace belfry {
namespace {

class RepeatFlow final : public StageFlow {
 public:
  RepeatFlow(Flow source, std::int64_t times)
      : StageFlow(std::move(source), "repeat", times == kForever ? "repeat" : fmt::format("repeat({})", times),
                  times == kForever ? FlowParameters{} : FlowParameters{{"times", times}}),
        times_(times) {
    if (forever()) check_not_empty(StageFlow::size() != 0);
  }

  void start_epoch(std::uint64_t epoch) override {
    cancelled_.lift();
    epoch_ = epoch;
    start_round(0);
  }

  std::uint64_t epoch() const override { return epoch_; }

  std::optional<std::int64_t> size() const override {
    const std::optional<std::int64_t> one = StageFlow::size();
    std::int64_t all = 0;
    if (forever() || !one || __builtin_mul_overflow(*one, times_, &all)) return std::nullopt;
    return all;
  }

  bool endless() const override { return forever() || StageFlow::endless(); }

  std::optional<DataPoint> next() override {
    while (true) {
      cancelled_.check(*this);  // the beginning of a round may have lifted it for the source
      if (std::optional<DataPoint> point = source().next()) {
        ++given_;
        return point;
      }
      warn_if_short();
      if (StageFlow::size() == 0) return std::nullopt;  // every other round would be empty too
      if (!forever() && round_ + 1 >= static_cast<std::uint64_t>(times_)) return std::nullopt;
      if (forever()) check_not_empty(given_ > 0 || resumed_);
      start_round(round_ + 1);
    }
  }

  FlowState state() const override {
    FlowState state = StageFlow::state();
    state.numbers = {{"times", times_in_state()}, {"epoch", epoch_}, {"round", round_}};
    return state;
  }

  void cancel() override {
    cancelled_.set();
    StageFlow::cancel();
  }

  void restore(const FlowState& state) override {
    cancelled_.lift();
    StageFlow::restore(state);
    state.expect_number("times", times_in_state());
    epoch_ = state.at("epoch");
    round_ = state.at("round");
    given_ = 0;
    resumed_ = true;
  }

 private:
  bool forever() const { return times_ == kForever; }
  std::uint64_t times_in_state() const { return forever() ? 0 : static_cast<std::uint64_t>(times_); }

  void start_round(std::uint64_t round) {
    round_ = round;
    given_ = 0;
    resumed_ = false;
    source().start_epoch((forever() ? epoch_ : epoch_ * static_cast<std::uint64_t>(times_)) + round);
  }

  void check_not_empty(bool has_points) const {
    BELFRY_CHECK(
        has_points,
        "[repeat] expected a flow with points to repeat forever, got an empty pass of '{}'. Is the batch larger "
        "than the data, or does a filter keep nothing?",
        source().describe());
  }

  // Steps are counted by the size: a pass that has fewer points begins the next one in the middle of an epoch.
  void warn_if_short() {
    const std::optional<std::int64_t> size = StageFlow::size();
    if (warned_ || resumed_ || !size || given_ >= *size) return;
    cancelled_.check(*this);  // a cancelled source may have ended early
    warned_ = true;
    log_warning(fmt::format(
        "[repeat] expected {} points in a pass of '{}', as its size() says, got {}. The next pass begins early.", *size,
        source().describe(), given_));
  }

  const std::int64_t times_;
  std::uint64_t epoch_ = 0;
  std::uint64_t round_ = 0;  // passes of the source already finished in this epoch
  std::int64_t given_ = 0;   // points of this round
  bool resumed_ = false;     // there may have been others: the round was restored, perhaps at its end
  bool warned_ = false;      // once is enough
  CancelFlag cancelled_;
};

}  // namespace

FlowStage repeat(std::int64_t times) {
  BELFRY_CHECK(times >= 1 || times == kForever, "[repeat] expected 1 or more times, or kForever, got {}.", times);
  return FlowStage([=](Flow source) { return std::make_shared<RepeatFlow>(std::move(source), times); });
}

}  // namespace belfry
