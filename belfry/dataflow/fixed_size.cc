#include "belfry/dataflow/fixed_size.h"

#include "belfry/base/check.h"
#include "belfry/dataflow/cancel_flag.h"
#include "belfry/dataflow/internal/flow_checks.h"
#include "belfry/dataflow/internal/pass_guard.h"
#include "belfry/dataflow/internal/skip_point.h"
#include "belfry/dataflow/stage_flow.h"

namespace belfry {
namespace {

class FixedSizeFlow final : public StageFlow {
 public:
  FixedSizeFlow(Flow source, std::int64_t points, bool keep_state)
      : StageFlow(std::move(source), "fixed_size", fmt::format("fixed_size({})", points),
                  {{"points", points}, {"keep_state", keep_state}}),
        points_(static_cast<std::uint64_t>(points)),
        keep_state_(keep_state) {
    check_not_empty(StageFlow::size() != 0);
    check_ordered(StageFlow::source(), kind());
  }

  void start_epoch(std::uint64_t epoch) override {
    const bool cancelled = cancelled_.lift();  // in any case: what follows lifts it for the source
    const bool placed = !pass_.failed() && !cancelled;
    pass_.begin([&] {
      if (keep_state_)
        seek(epoch, placed);
      else
        start_round(epoch);
      epoch_ = epoch;
      given_ = 0;
    });
  }

  std::uint64_t epoch() const override { return epoch_; }
  std::optional<std::int64_t> size() const override { return static_cast<std::int64_t>(points_); }
  bool endless() const override { return false; }

  std::optional<DataPoint> next() override {
    pass_.check(kind());
    if (given_ == points_) return std::nullopt;
    return pass_.reading(kind(), [this] {
      std::optional<DataPoint> point;
      move_on([&] {
        point = source().next();
        return point.has_value();
      });
      ++given_;
      return point;
    });
  }

  FlowState state() const override {
    pass_.check(kind());
    FlowState state = StageFlow::state();
    state.numbers = {{"points", points_}, {"keep_state", keep_state_ ? 1u : 0u}, {"epoch", epoch_}, {"given", given_}};
    return state;
  }

  void restore(const FlowState& state) override {
    cancelled_.lift();
    pass_.begin([&] {
      StageFlow::restore(state);
      state.expect_number("points", points_);
      state.expect_number("keep_state", keep_state_ ? 1 : 0);
      const std::uint64_t given = state.at("given");
      BELFRY_CHECK(given <= points_,
                   "[restore] expected at most {} points given in 'fixed_size', got {}. The state is damaged.", points_,
                   given);
      epoch_ = state.at("epoch");
      given_ = given;
      round_has_points_ = true;  // the state may be that of a round's end
    });
  }

  void cancel() override {
    cancelled_.set();
    StageFlow::cancel();
  }

 private:
  // To the first point of a pass in the sequence of all epochs. `placed`: the source stands where epoch_ and given_
  // say, so that points before that need not be read again.
  void seek(std::uint64_t epoch, bool placed) {
    std::uint64_t target = 0;
    BELFRY_CHECK(!__builtin_mul_overflow(epoch, points_, &target),
                 "[fixed_size] expected an epoch whose first point, epoch * {}, fits 64 bits, got epoch {}.", points_,
                 epoch);
    const std::uint64_t here = epoch_ * points_ + given_;
    const auto one = static_cast<std::uint64_t>(StageFlow::size().value_or(0));
    if (one == 0) {
      const bool ahead = placed && target >= here;
      if (!ahead) start_round(0);
      skip(ahead ? target - here : target);
      return;
    }
    const std::uint64_t round = target / one, round_start = round * one;
    const bool ahead = placed && source().epoch() == round && target >= here && here >= round_start;
    if (!ahead) start_round(round);
    skip(target - (ahead ? here : round_start));
  }

  void skip(std::uint64_t points) {
    for (; points > 0; --points) move_on([&] { return skip_point(source()); });
  }

  // Moves by one point, into the source's next epoch if this one has no more. `move`: false at the end.
  template <class Move>
  void move_on(const Move& move) {
    while (!move()) {
      check_not_empty(round_has_points_);
      start_round(source().epoch() + 1);
      cancelled_.check(*this);  // that may have lifted it for the source
    }
    round_has_points_ = true;
  }

  void start_round(std::uint64_t source_epoch) {
    round_has_points_ = false;
    source().start_epoch(source_epoch);
  }

  void check_not_empty(bool has_points) const {
    BELFRY_CHECK(has_points,
                 "[fixed_size] expected a flow with points to fill {} places, got an empty pass of '{}'. Is the batch "
                 "larger than the data, or does a filter keep nothing?",
                 points_, source().describe());
  }

  const std::uint64_t points_;
  const bool keep_state_;
  std::uint64_t epoch_ = 0;
  std::uint64_t given_ = 0;        // points of this pass
  bool round_has_points_ = false;  // whether the source's pass has had any
  PassGuard pass_;                 // unless failed, the source stands where epoch_ and given_ say
  CancelFlag cancelled_;           // the source needs a start_epoch() to go on
};

}  // namespace

FlowStage fixed_size(std::int64_t points, FixedSizeOptions options) {
  BELFRY_CHECK(points >= 1, "[fixed_size] expected at least 1 point in a pass, got {}.", points);
  return FlowStage(
      [=](Flow source) { return std::make_shared<FixedSizeFlow>(std::move(source), points, options.keep_state); });
}

}  // namespace belfry
