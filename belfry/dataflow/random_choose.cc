#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "belfry/base/check.h"
#include "belfry/dataflow/internal/pass_guard.h"
#include "belfry/dataflow/internal/random_place.h"
#include "belfry/dataflow/joined_flow.h"
#include "belfry/dataflow/random_flows.h"

namespace belfry {
namespace {

class RandomChooseFlow final : public JoinedFlow {
 public:
  RandomChooseFlow(std::vector<Flow> flows, std::vector<double> weights, std::uint64_t seed)
      : JoinedFlow(std::move(flows), "random_choose",
                   {{"weights", fmt::format("{}", fmt::join(weights, " "))}, {"seed", seed}}),
        seed_(seed),
        seed_here_(seed_behind(seed, JoinedFlow::state().from)) {
    if (weights.empty()) weights.assign(sources(), 1);
    check_weights(weights);
    std::partial_sum(weights.begin(), weights.end(), std::back_inserter(ends_));
  }

  void start_epoch(std::uint64_t epoch) override {
    pass_.begin([&] { JoinedFlow::start_epoch(epoch); });
    index_ = 0;
  }

  std::optional<std::int64_t> size() const override { return std::nullopt; }
  bool endless() const override {
    for (std::size_t i = 0; i < sources(); ++i)
      if (weight(i) > 0 && !source(i).endless()) return false;
    return true;
  }

  // At the end of a pass the index stays, so that the same flow is asked again and has nothing again.
  std::optional<DataPoint> next() override {
    std::optional<DataPoint> point = pass_.reading(kind(), [this] { return source(chosen()).next(); });
    if (point) ++index_;
    return point;
  }

  FlowState state() const override {
    pass_.check(kind());
    FlowState state = JoinedFlow::state();
    state.numbers = {{"seed", seed_}, {"index", index_}};
    return state;
  }

  void restore(const FlowState& state) override {
    pass_.begin([&] {
      JoinedFlow::restore(state);
      state.expect_number("seed", seed_);
      index_ = state.at("index");
    });
  }

 private:
  double weight(std::size_t i) const { return i == 0 ? ends_[0] : ends_[i] - ends_[i - 1]; }

  std::size_t chosen() const {
    RandomStream random = random_of(seed_here_, epoch(), index_);
    // The first whose end lies beyond: never one of weight 0. Rounding could reach the last end itself.
    const double at = std::min(random.uniform() * ends_.back(), std::nextafter(ends_.back(), 0));
    return static_cast<std::size_t>(std::ranges::upper_bound(ends_, at) - ends_.begin());
  }

  void check_weights(const std::vector<double>& weights) const {
    BELFRY_CHECK(weights.size() == sources(), "[random_choose] expected one weight for each of {} flows, got {}.",
                 sources(), weights.size());
    const bool usable = std::ranges::all_of(weights, [](double w) { return w >= 0; });
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    BELFRY_CHECK(usable && std::isnormal(sum),
                 "[random_choose] expected weights of 0 or more with a finite sum above 0, got {{{}}}.",
                 fmt::join(weights, ", "));
  }

  const std::uint64_t seed_;       // as it was given
  const std::uint64_t seed_here_;  // and what numbers come from
  std::vector<double> ends_;       // ends_[i]: sum of the weights up to and including i
  std::uint64_t index_ = 0;        // of the next point
  PassGuard pass_;                 // after an error a flow may have lost a point that the index does not count
};

}  // namespace

Flow random_choose(std::vector<Flow> flows, RandomChooseOptions options) {
  return std::make_shared<RandomChooseFlow>(std::move(flows), std::move(options.weights), options.seed);
}

}  // namespace belfry
