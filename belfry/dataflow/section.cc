#include "belfry/dataflow/section.h"

#include <algorithm>
#include <cmath>

#include "belfry/base/check.h"
#include "belfry/dataflow/indexed_flow.h"
#include "belfry/dataflow/internal/flow_checks.h"
#include "belfry/dataflow/internal/pass_guard.h"
#include "belfry/dataflow/internal/skip_point.h"
#include "belfry/dataflow/stage_flow.h"

namespace belfry {
namespace {

// Points first, first + 1, ... of each pass, `most` of them if that is not negative.
class SectionFlow final : public StageFlow, public RandomAccess {
 public:
  SectionFlow(Flow source, const char* kind, std::int64_t first, std::int64_t most)
      : StageFlow(std::move(source), kind, fmt::format("{}({})", kind, most < 0 ? first : most),
                  {{"points", most < 0 ? first : most}}),
        first_(first),
        most_(most) {
    check_ordered(StageFlow::source(), StageFlow::kind());
  }

  void start_epoch(std::uint64_t epoch) override {
    pass_.begin([&] { StageFlow::start_epoch(epoch); });
    passed_ = 0;
  }

  std::optional<std::int64_t> size() const override {
    if (const std::optional<std::int64_t> all = StageFlow::size()) return length(*all);
    return std::nullopt;
  }
  bool endless() const override { return most_ < 0 && StageFlow::endless(); }

  std::optional<DataPoint> next() override {
    return pass_.reading(kind(), [this] {
      std::optional<DataPoint> point;
      if (skip_to_first() && !at_end()) point = source().next();
      if (point) ++passed_;
      return point;
    });
  }

  FlowState state() const override {
    pass_.check(kind());
    FlowState state = StageFlow::state();
    state.numbers = {{"first", static_cast<std::uint64_t>(first_)},
                     {"most", static_cast<std::uint64_t>(most_) + 1},  // 0: no limit
                     {"passed", static_cast<std::uint64_t>(passed_)}};
    return state;
  }

  void restore(const FlowState& state) override {
    pass_.begin([&] {
      StageFlow::restore(state);
      state.expect_number("first", static_cast<std::uint64_t>(first_));
      state.expect_number("most", static_cast<std::uint64_t>(most_) + 1);
      const auto passed = static_cast<std::int64_t>(state.at("passed"));
      BELFRY_CHECK(passed >= 0 && (most_ < 0 || passed <= first_ + most_),
                   "[restore] expected at most {} points passed in '{}', got {}. The state is damaged.", first_ + most_,
                   kind(), state.at("passed"));
      passed_ = passed;
    });
  }

  RandomAccess* random_access() override { return source().random_access() != nullptr ? this : nullptr; }
  std::int64_t count() const override { return length(access().count()); }
  DataPoint at(std::int64_t index) const override { return access().at(first_ + index); }
  std::optional<std::int64_t> next_index() override {
    return pass_.reading(kind(), [this] {
      std::optional<std::int64_t> index;
      if (skip_to_first() && !at_end()) index = access().next_index();
      if (!index) return index;
      ++passed_;
      return std::optional(*index - first_);
    });
  }
  const std::vector<ComponentSpec>* row_spec() const override { return access().row_spec(); }
  void read_row(std::int64_t index, std::span<void* const> rows) const override {
    access().read_row(first_ + index, rows);
  }

 private:
  RandomAccess& access() const { return *source().random_access(); }
  std::int64_t length(std::int64_t all) const {
    const std::int64_t left = std::max<std::int64_t>(all - first_, 0);
    return most_ < 0 ? left : std::min(left, most_);
  }
  bool at_end() const { return most_ >= 0 && passed_ >= first_ + most_; }
  bool skip_to_first() {
    for (; passed_ < first_; ++passed_)
      if (!skip_point(source())) return false;
    return true;
  }

  const std::int64_t first_, most_;
  std::int64_t passed_ = 0;  // points of the source's pass, including skipped ones
  PassGuard pass_;           // after an error nobody knows how many
};

// A range of the indices of a flow that stays at epoch 0 and is never moved, so that several parts can read it.
class PartFlow final : public IndexedFlow {
 public:
  PartFlow(std::shared_ptr<const ClaimedFlow> whole, std::int64_t first, std::int64_t count, std::uint64_t rank)
      : IndexedFlow(FlowIdentity{.kind = "split",
                                 .parameters = {{"first", first}, {"count", count}, {"rank", rank}},
                                 .from = {(*whole)->identity()}}),
        whole_(std::move(whole)),
        first_(first),
        count_(count),
        rank_(rank) {}
  std::int64_t count() const override { return count_; }
  DataPoint at(std::int64_t index) const override { return access().at(first_ + index); }
  const std::vector<ComponentSpec>* row_spec() const override { return access().row_spec(); }
  void read_row(std::int64_t index, std::span<void* const> rows) const override {
    access().read_row(first_ + index, rows);
  }
  std::string describe() const override {
    return fmt::format("{} | split({} of {})", (*whole_)->describe(), count_, access().count());
  }
  // Includes the state of the whole, which never changes, and the rank: random stages after the split take their seeds
  // from them, so that the two parts draw different numbers.
  FlowState state() const override {
    FlowState state = IndexedFlow::state();
    state.numbers.insert(state.numbers.end(), {{"rank", rank_}, {"size", 2}});
    state.from = {(*whole_)->state()};
    return state;
  }
  void restore(const FlowState& state) override {
    state.expect("split", 1);
    state.expect_number("rank", rank_);
    FlowState own = state;
    own.from.clear();
    IndexedFlow::restore(own);
  }

 private:
  RandomAccess& access() const { return *(*whole_)->random_access(); }
  std::shared_ptr<const ClaimedFlow> whole_;
  std::int64_t first_, count_;
  std::uint64_t rank_;  // 0: the first part
};

FlowStage section(const char* kind, std::int64_t points, std::int64_t first, std::int64_t most) {
  BELFRY_CHECK(points >= 0, "[{}] expected 0 points or more, got {}.", kind, points);
  return FlowStage([=](Flow source) { return std::make_shared<SectionFlow>(std::move(source), kind, first, most); });
}

// `place`: where to cut, from the number of points.
template <class Place>
std::pair<Flow, Flow> split_where(Flow flow, const char* who, const Place& place) {
  const auto whole = std::make_shared<const ClaimedFlow>(std::move(flow), who);
  RandomAccess* access = (*whole)->random_access();
  BELFRY_CHECK(access != nullptr,
               "[{}] expected a flow with random access, got '{}'. Split it before stages that read in order, cache it "
               "first, or build it twice, with take() and with skip().",
               who, (*whole)->describe());
  const std::int64_t all = access->count(), first = place(all);
  return {std::make_shared<PartFlow>(whole, 0, first, 0), std::make_shared<PartFlow>(whole, first, all - first, 1)};
}

}  // namespace

FlowStage take(std::int64_t points) { return section("take", points, 0, points); }
FlowStage skip(std::int64_t points) { return section("skip", points, points, -1); }

std::pair<Flow, Flow> split(Flow flow, double share) {
  BELFRY_CHECK(share >= 0 && share <= 1, "[split] expected a share from 0 to 1, got {}. split_at() takes a number.",
               share);
  return split_where(std::move(flow), "split", [share](std::int64_t all) {
    return static_cast<std::int64_t>(std::llround(share * static_cast<double>(all)));
  });
}

std::pair<Flow, Flow> split_at(Flow flow, std::int64_t points) {
  return split_where(std::move(flow), "split_at", [points](std::int64_t all) {
    BELFRY_CHECK(points >= 0 && points <= all, "[split_at] expected a number from 0 to the flow's {} points, got {}.",
                 all, points);
    return points;
  });
}

}  // namespace belfry
