#include "belfry/dataflow/zip.h"

#include <algorithm>

#include "belfry/dataflow/internal/flow_checks.h"
#include "belfry/dataflow/internal/pass_guard.h"
#include "belfry/dataflow/joined_flow.h"

namespace belfry {
namespace {

class ZipFlow final : public JoinedFlow, public RandomAccess {
 public:
  explicit ZipFlow(std::vector<Flow> flows) : JoinedFlow(std::move(flows), "zip") {
    if (sources() > 1)
      for (std::size_t i = 0; i < sources(); ++i) check_ordered(source(i), kind());
  }

  void start_epoch(std::uint64_t epoch) override {
    pass_.begin([&] { JoinedFlow::start_epoch(epoch); });
    finished_ = false;
  }

  void restore(const FlowState& state) override {
    pass_.begin([&] { JoinedFlow::restore(state); });
    finished_ = false;
  }

  FlowState state() const override {
    pass_.check(kind());
    return JoinedFlow::state();
  }

  std::optional<std::int64_t> size() const override {
    std::optional<std::int64_t> shortest = source(0).size();
    for (std::size_t i = 1; i < sources() && shortest; ++i) {
      const std::optional<std::int64_t> points = source(i).size();
      shortest = points ? std::optional(std::min(*shortest, *points)) : std::nullopt;
    }
    return shortest;
  }

  bool endless() const override { return all_endless(); }

  std::optional<DataPoint> next() override {
    DataPoint joined;
    const bool complete = step([&](DataFlow& flow) {
      std::optional<DataPoint> point = flow.next();
      if (point) std::ranges::move(*point, std::back_inserter(joined));
      return point.has_value();
    });
    if (!complete) return std::nullopt;
    return joined;
  }

  RandomAccess* random_access() override { return all_have_random_access() ? this : nullptr; }

  std::int64_t count() const override {
    std::int64_t shortest = access(0).count();
    for (std::size_t i = 1; i < sources(); ++i) shortest = std::min(shortest, access(i).count());
    return shortest;
  }

  std::optional<std::int64_t> next_index() override {
    std::optional<std::int64_t> index;  // the same in all: they have moved on together
    const bool complete = step([&](DataFlow& flow) {
      index = flow.random_access()->next_index();
      return index.has_value();
    });
    return complete ? index : std::nullopt;
  }

  DataPoint at(std::int64_t index) const override {
    DataPoint joined;
    for (std::size_t i = 0; i < sources(); ++i) std::ranges::move(access(i).at(index), std::back_inserter(joined));
    return joined;
  }

 private:
  RandomAccess& access(std::size_t i) const { return *source(i).random_access(); }

  // Moves every flow on by one point; false at the end of the first that has none.
  template <class Move>
  bool step(const Move& move) {
    return pass_.reading(kind(), [&] {
      for (std::size_t i = 0; i < sources() && !finished_; ++i) finished_ = !move(source(i));
      return !finished_;
    });
  }

  PassGuard pass_;         // after an error the flows are out of step
  bool finished_ = false;  // one has ended: the others are not read any further
};

}  // namespace

Flow zip(std::vector<Flow> flows) { return std::make_shared<ZipFlow>(std::move(flows)); }

}  // namespace belfry
