#include "belfry/base/check.h"
#include "belfry/dataflow/internal/catch_up.h"
#include "belfry/dataflow/internal/flow_checks.h"
#include "belfry/dataflow/internal/pass_guard.h"
#include "belfry/dataflow/internal/permute.h"
#include "belfry/dataflow/shuffle.h"
#include "belfry/dataflow/stage_flow.h"

namespace belfry {
namespace {

class ShuffleLocalFlow final : public StageFlow {
 public:
  ShuffleLocalFlow(Flow source, std::size_t buffer, std::uint64_t seed)
      : StageFlow(std::move(source), "shuffle_local", fmt::format("shuffle_local({})", buffer),
                  {{"buffer", buffer}, {"seed", seed}}),
        buffer_(buffer),
        seed_(seed),
        run_start_(StageFlow::state()) {
    check_ordered(StageFlow::source(), kind());
  }

  void start_epoch(std::uint64_t epoch) override {
    pass_.begin([&] { StageFlow::start_epoch(epoch); });
    epoch_ = epoch;
    begin_run(0);
  }

  std::optional<DataPoint> next() override {
    catch_up_.settle(kind(), [this](const FlowState& state) { read_again(state.at("given")); });
    pass_.check(kind());
    // If it throws, what was read so far is lost: state() is that before the run.
    if (run_.empty()) pass_.reading(kind(), [this] { read_run(); });
    if (run_.empty()) return std::nullopt;
    DataPoint point = std::move(run_[given_++]);
    if (given_ == run_.size()) begin_run(run_number_ + 1);
    return point;
  }

  FlowState state() const override {
    if (const FlowState* restored = catch_up_.state()) return *restored;
    FlowState state = run_start_;
    state.numbers = {{"seed", seed_}, {"buffer", buffer_}, {"epoch", epoch_}, {"run", run_number_}, {"given", given_}};
    return state;
  }

  void restore(const FlowState& state) override {
    pass_.begin([&] {
      StageFlow::restore(state);
      state.expect_number("seed", seed_);
      state.expect_number("buffer", buffer_);
      const std::uint64_t given = state.at("given");
      epoch_ = state.at("epoch");
      begin_run(state.at("run"));
      if (given > 0) catch_up_.owe(state);
    });
  }

 private:
  void begin_run(std::uint64_t number) {
    run_start_ = StageFlow::state();
    run_number_ = number;
    run_.clear();
    given_ = 0;
    catch_up_.clear();
  }

  void read_again(std::uint64_t given) {
    read_run();
    BELFRY_CHECK(given < run_.size(),
                 "[restore] expected more than {} points in this run of '{}', got {}. The source has changed.", given,
                 describe(), run_.size());
    given_ = given;
  }

  void read_run() {
    std::vector<DataPoint> points;
    while (points.size() < buffer_) {
      std::optional<DataPoint> point = source().next();
      if (!point) break;
      points.push_back(std::move(*point));
    }
    permute(points, mix_seed(mix_seed(seed_, epoch_), run_number_));
    run_ = std::move(points);
  }

  const std::size_t buffer_;
  const std::uint64_t seed_;
  std::uint64_t epoch_ = 0;
  FlowState run_start_;  // our state node, with the source's as it was before the run was read
  std::uint64_t run_number_ = 0;
  std::vector<DataPoint> run_;  // empty between runs
  std::size_t given_ = 0;       // points of run_ that are moved out
  PassGuard pass_;
  CatchUp catch_up_;
};

}  // namespace

FlowStage shuffle_local(std::int64_t buffer, std::uint64_t seed) {
  BELFRY_CHECK(buffer >= 1, "[shuffle_local] expected a buffer of at least 1 point, got {}.", buffer);
  return FlowStage([=](Flow source) {
    return std::make_shared<ShuffleLocalFlow>(std::move(source), static_cast<std::size_t>(buffer), seed);
  });
}

}  // namespace belfry
