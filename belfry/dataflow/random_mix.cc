#include <numeric>

#include "belfry/base/check.h"
#include "belfry/dataflow/internal/pass_guard.h"
#include "belfry/dataflow/internal/random_place.h"
#include "belfry/dataflow/joined_flow.h"
#include "belfry/dataflow/random_flows.h"

namespace belfry {
namespace {

// A flow is chosen with the probability (points it has left) / (points all have left): the same distribution as that
// of a shuffled list of whose turn it is, without the list.
class RandomMixFlow final : public JoinedFlow {
 public:
  RandomMixFlow(std::vector<Flow> flows, std::uint64_t seed)
      : JoinedFlow(std::move(flows), "random_mix", {{"seed", seed}}),
        seed_(seed),
        seed_here_(seed_behind(seed, JoinedFlow::state().from)),
        given_(sources(), 0) {
    for (std::size_t i = 0; i < sources(); ++i)
      BELFRY_CHECK(source(i).size().has_value(),
                   "[random_mix] expected flows of known length, got '{}', which has no end or an unknown length. Use "
                   "random_choose().",
                   source(i).describe());
    BELFRY_CHECK(sum_of_sizes().has_value(), "[random_mix] expected fewer than 2^63 points in all, got more in '{}'.",
                 describe());
  }

  void start_epoch(std::uint64_t epoch) override {
    pass_.begin([&] { JoinedFlow::start_epoch(epoch); });
    given_.assign(sources(), 0);
  }

  std::optional<std::int64_t> size() const override { return sum_of_sizes(); }

  std::optional<DataPoint> next() override {
    pass_.check(kind());
    const std::uint64_t all = static_cast<std::uint64_t>(*sum_of_sizes()), index = given_in_all();
    if (index == all) return std::nullopt;
    RandomStream random = random_of(seed_here_, epoch(), index);
    const std::size_t chosen = owner(random.below(all - index));
    return pass_.reading(kind(), [&] {
      std::optional<DataPoint> point = source(chosen).next();
      BELFRY_CHECK(point, "[random_mix] expected {} points in a pass of '{}', got {}. Its size() is wrong.",
                   points_of(chosen), source(chosen).describe(), given_[chosen]);
      ++given_[chosen];
      return point;
    });
  }

  // After an error a flow may have lost a point that is not among those given.
  FlowState state() const override {
    pass_.check(kind());
    FlowState state = JoinedFlow::state();
    state.numbers = {{"seed", seed_}};
    for (std::size_t i = 0; i < sources(); ++i) state.numbers.emplace_back(name_of_given(i), given_[i]);
    return state;
  }

  void restore(const FlowState& state) override {
    pass_.begin([&] {
      JoinedFlow::restore(state);
      state.expect_number("seed", seed_);
      for (std::size_t i = 0; i < sources(); ++i) {
        given_[i] = state.at(name_of_given(i));
        BELFRY_CHECK(given_[i] <= points_of(i),
                     "[restore] expected at most {} points given of '{}', got {}. The state is damaged.", points_of(i),
                     source(i).describe(), given_[i]);
      }
    });
  }

 private:
  static std::string name_of_given(std::size_t i) { return fmt::format("given{}", i); }

  std::uint64_t points_of(std::size_t i) const { return static_cast<std::uint64_t>(*source(i).size()); }
  std::uint64_t given_in_all() const { return std::accumulate(given_.begin(), given_.end(), std::uint64_t{0}); }

  // Whose the point is, if those that are left are numbered flow by flow.
  std::size_t owner(std::uint64_t number) const {
    std::size_t i = 0;
    for (; number >= points_of(i) - given_[i]; ++i) number -= points_of(i) - given_[i];
    return i;
  }

  const std::uint64_t seed_;          // as it was given
  const std::uint64_t seed_here_;     // and what numbers come from
  std::vector<std::uint64_t> given_;  // points of each flow already given in this pass
  PassGuard pass_;
};

}  // namespace

Flow random_mix(std::vector<Flow> flows, std::uint64_t seed) {
  return std::make_shared<RandomMixFlow>(std::move(flows), seed);
}

}  // namespace belfry
