#include "belfry/dataflow/repeat_each.h"

#include "belfry/base/check.h"
#include "belfry/dataflow/internal/catch_up.h"
#include "belfry/dataflow/internal/flow_checks.h"
#include "belfry/dataflow/stage_flow.h"

namespace belfry {
namespace {

class RepeatEachFlow final : public StageFlow, public RandomAccess {
 public:
  RepeatEachFlow(Flow source, std::int64_t times)
      : StageFlow(std::move(source), "repeat_each", fmt::format("repeat_each({})", times), {{"times", times}}),
        times_(times) {
    check_ordered(StageFlow::source(), kind());
  }

  void start_epoch(std::uint64_t epoch) override {
    StageFlow::start_epoch(epoch);
    begin_point();
  }

  std::optional<std::int64_t> size() const override {
    const std::optional<std::int64_t> points = StageFlow::size();
    return points ? all_of(*points) : std::nullopt;
  }

  std::optional<DataPoint> next() override {
    catch_up();
    if (given_ == 0 && !move_on()) return std::nullopt;
    if (!point_) point_ = access()->at(index_);
    if (++given_ < times_) return point_;
    std::optional<DataPoint> last = std::move(point_);
    begin_point();
    return last;
  }

  FlowState state() const override {
    if (const FlowState* restored = catch_up_.state()) return *restored;
    FlowState state = given_ == 0 ? StageFlow::state() : before_;
    state.numbers = {{"times", static_cast<std::uint64_t>(times_)}, {"given", static_cast<std::uint64_t>(given_)}};
    return state;
  }

  void restore(const FlowState& state) override {
    StageFlow::restore(state);
    state.expect_number("times", static_cast<std::uint64_t>(times_));
    const std::uint64_t given = state.at("given");
    begin_point();
    check_copies(given < static_cast<std::uint64_t>(times_), given);
    if (given > 0) catch_up_.owe(state);
  }

  // A source that has to count its points first, as a cache has, has few enough of them.
  RandomAccess* random_access() override {
    return access() != nullptr && all_of(StageFlow::size().value_or(0)).has_value() ? this : nullptr;
  }
  std::int64_t count() const override { return access()->count() * times_; }
  DataPoint at(std::int64_t index) const override { return access()->at(index / times_); }

  std::optional<std::int64_t> next_index() override {
    catch_up();
    if (given_ == 0 && !move_on()) return std::nullopt;
    const std::int64_t index = index_ * times_ + given_;
    if (++given_ == times_) begin_point();
    return index;
  }

  const std::vector<ComponentSpec>* row_spec() const override { return access()->row_spec(); }
  void read_row(std::int64_t index, std::span<void* const> rows) const override {
    access()->read_row(index / times_, rows);
  }

 private:
  // Nothing if that is too large a number.
  std::optional<std::int64_t> all_of(std::int64_t points) const {
    std::int64_t all = 0;
    if (__builtin_mul_overflow(points, times_, &all)) return std::nullopt;
    return all;
  }

  RandomAccess* access() const { return source().random_access(); }

  void begin_point() {
    given_ = 0;
    point_.reset();
    catch_up_.clear();
  }

  void catch_up() {
    catch_up_.settle(kind(), [this](const FlowState& state) {
      const std::uint64_t given = state.at("given");
      check_copies(move_on(), given);
      given_ = static_cast<std::int64_t>(given);
    });
  }

  void check_copies(bool possible, std::uint64_t given) const {
    BELFRY_CHECK(
        possible,
        "[restore] expected a point of '{}' with fewer than {} copies given so far, got {}. The state is damaged.",
        describe(), times_, given);
  }

  // To the source's next point: by its index, if there is random access, so that next_index() reads nothing.
  bool move_on() {
    if (times_ > 1) before_ = StageFlow::state();
    if (access() == nullptr) {
      point_ = source().next();
      return point_.has_value();
    }
    const std::optional<std::int64_t> index = access()->next_index();
    index_ = index.value_or(0);
    return index.has_value();
  }

  const std::int64_t times_;
  FlowState before_;                // our state node, with the source's as it was before the point
  std::int64_t given_ = 0;          // copies of the point that are given; 0: between points
  std::int64_t index_ = 0;          // the point's, if there is random access
  std::optional<DataPoint> point_;  // once it was needed
  CatchUp catch_up_;
};

}  // namespace

FlowStage repeat_each(std::int64_t times) {
  BELFRY_CHECK(times >= 1, "[repeat_each] expected 1 or more times, got {}.", times);
  return FlowStage([=](Flow source) { return std::make_shared<RepeatEachFlow>(std::move(source), times); });
}

}  // namespace belfry
