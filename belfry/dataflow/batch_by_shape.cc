#include <algorithm>
#include <map>

#include "belfry/base/check.h"
#include "belfry/dataflow/batch.h"
#include "belfry/dataflow/internal/catch_up.h"
#include "belfry/dataflow/internal/flow_checks.h"
#include "belfry/dataflow/internal/pass_guard.h"
#include "belfry/dataflow/internal/skip_point.h"
#include "belfry/dataflow/internal/stack_points.h"
#include "belfry/dataflow/stage_flow.h"

namespace belfry {
namespace {

// Points are numbered as they are read: 0, 1, ... since the pass, or the restored position, began.
struct Waiting {
  std::uint64_t number = 0;
  FlowState before;  // our state node, with the source's as it was before the point
  DataPoint point;
};
using Bucket = std::vector<Waiting>;  // never empty; the oldest first

// Ranks and dimensions of all components in a row: different for different shapes.
using ShapeKey = std::vector<std::int64_t>;

ShapeKey key_of(const DataPoint& point) {
  ShapeKey key;
  for (const Array& component : point) {
    key.push_back(component.shape().rank());
    key.insert(key.end(), component.shape().begin(), component.shape().end());
  }
  return key;
}

class BatchByShapeFlow final : public StageFlow {
 public:
  BatchByShapeFlow(Flow source, std::int64_t points, Remainder remainder)
      : StageFlow(std::move(source), "batch_by_shape", fmt::format("batch_by_shape({})", points),
                  {{"points", points}, {"keep", remainder == Remainder::keep}}),
        points_(static_cast<std::size_t>(points)),
        keep_(remainder == Remainder::keep) {
    check_ordered(StageFlow::source(), kind());
  }

  void start_epoch(std::uint64_t epoch) override {
    clear();
    pass_.begin([&] { StageFlow::start_epoch(epoch); });
  }

  std::optional<std::int64_t> size() const override { return std::nullopt; }

  std::optional<DataPoint> next() override {
    catch_up_.settle(kind(), [this](const FlowState& state) { read_again(state); });
    pass_.check(kind());
    for (auto entry = read_point(); entry != buckets_.end(); entry = read_point())
      if (entry->second.size() == points_) return give(entry);
    if (!keep_ || buckets_.empty()) return std::nullopt;
    return give(oldest());
  }

  // The source's state before the oldest point that waits, how many were read since, and which of them wait: the others
  // are given. Those that wait are in memory, so that the list stays short; the others may be a whole pass.
  FlowState state() const override {
    if (const FlowState* restored = catch_up_.state()) return *restored;
    pass_.check(kind());
    const auto first = oldest();
    FlowState state = first == buckets_.end() ? StageFlow::state() : first->second[0].before;
    const std::uint64_t base = first == buckets_.end() ? read_ : first->second[0].number;
    state.numbers = {{"points", points_}, {"keep", keep_ ? 1u : 0u}, {"read", read_ - base}};
    std::vector<std::uint64_t> numbers;
    for (const auto& [key, bucket] : buckets_)
      for (const Waiting& waiting : bucket) numbers.push_back(waiting.number - base);
    std::ranges::sort(numbers);
    for (std::size_t i = 0; i < numbers.size(); ++i)
      state.numbers.emplace_back(fmt::format("waiting{}", i), numbers[i]);
    return state;
  }

  void restore(const FlowState& state) override {
    clear();
    pass_.begin([&] {
      StageFlow::restore(state);
      state.expect_number("points", points_);
      state.expect_number("keep", keep_ ? 1 : 0);
      const std::uint64_t read = state.at("read");
      const std::vector<std::uint64_t> waiting = waiting_in(state);
      BELFRY_CHECK(std::ranges::is_sorted(waiting) && (waiting.empty() || waiting.back() < read),
                   "[restore] expected ascending numbers below {} for the points that wait in 'batch_by_shape', got "
                   "others. The state is damaged.",
                   read);
      if (read > 0) catch_up_.owe(state);
    });
  }

 private:
  using Buckets = std::map<ShapeKey, Bucket>;

  void clear() {
    buckets_.clear();
    components_.reset();
    catch_up_.clear();
    read_ = 0;
  }

  static std::vector<std::uint64_t> waiting_in(const FlowState& state) {
    std::vector<std::uint64_t> waiting;
    for (const auto& [name, number] : state.numbers)
      if (name.starts_with("waiting")) waiting.push_back(number);
    return waiting;
  }

  void read_again(const FlowState& state) {
    const std::uint64_t read = state.at("read");
    const std::vector<std::uint64_t> waiting = waiting_in(state);
    auto next_waiting = waiting.begin();
    while (read_ < read) {
      const bool waits = next_waiting != waiting.end() && *next_waiting == read_;
      if (waits) ++next_waiting;
      BELFRY_CHECK(waits ? read_to_wait() : skip(),
                   "[restore] expected {} points from here in '{}', with fewer than {} of each shape waiting, got "
                   "others at point {}. The source has changed.",
                   read, source().describe(), points_, read_);
    }
  }

  bool skip() {
    if (!skip_point(source())) return false;
    ++read_;
    return true;
  }

  bool read_to_wait() {
    const auto entry = read_point();
    return entry != buckets_.end() && entry->second.size() < points_;
  }

  // The bucket that the source's next point was put into; end() at the end of the pass.
  Buckets::iterator read_point() {
    FlowState before = StageFlow::state();
    std::optional<DataPoint> point = pass_.reading(kind(), [this] { return source().next(); });
    if (!point) return buckets_.end();
    components_.check(*point);
    const auto entry = buckets_.try_emplace(key_of(*point)).first;
    entry->second.push_back({read_++, std::move(before), std::move(*point)});
    return entry;
  }

  DataPoint give(Buckets::iterator entry) {
    std::vector<DataPoint> points;
    for (Waiting& waiting : entry->second) points.push_back(std::move(waiting.point));
    buckets_.erase(entry);
    return stack_points(points, {}, kind());
  }

  template <class Self>
  static auto oldest_in(Self& buckets) {
    return std::ranges::min_element(buckets, {}, [](const auto& entry) { return entry.second[0].number; });
  }
  Buckets::iterator oldest() { return oldest_in(buckets_); }
  Buckets::const_iterator oldest() const { return oldest_in(buckets_); }

  const std::size_t points_;
  const bool keep_;
  Buckets buckets_;
  CatchUp catch_up_;
  std::uint64_t read_ = 0;
  PassGuard pass_;  // the source may have lost a point that is not counted
  ComponentCheck components_{"batch_by_shape", "points"};
};

}  // namespace

FlowStage batch_by_shape(std::int64_t points, Remainder remainder) {
  BELFRY_CHECK(points >= 1, "[batch_by_shape] expected at least 1 point in a batch, got {}.", points);
  return FlowStage(
      [=](Flow source) { return std::make_shared<BatchByShapeFlow>(std::move(source), points, remainder); });
}

}  // namespace belfry
