#include "belfry/dataflow/map.h"

#include <algorithm>

#include "belfry/base/check.h"
#include "belfry/dataflow/internal/flow_checks.h"
#include "belfry/dataflow/internal/map_as.h"
#include "belfry/dataflow/internal/mapped_point.h"
#include "belfry/dataflow/internal/parallel_map.h"
#include "belfry/dataflow/internal/pass_guard.h"
#include "belfry/dataflow/stage_flow.h"

namespace belfry {
namespace {

// Offers random access if its source does and every point is kept: the function is then applied to the points that are
// asked for.
class MapFlow final : public StageFlow, public RandomAccess {
 public:
  MapFlow(Flow source, const std::string& kind, PointFunction function, std::uint64_t seed)
      : StageFlow(std::move(source), kind, kind, map_parameters(function, seed, true)),
        function_(std::move(function)),
        seed_(seed),
        seed_here_(seed_behind(seed, {StageFlow::source().state()})) {
    if (function_.random()) check_ordered(StageFlow::source(), kind);
  }

  void start_epoch(std::uint64_t epoch) override {
    pass_.begin([&] { StageFlow::start_epoch(epoch); });
    index_ = 0;
  }

  std::optional<std::int64_t> size() const override { return function_.drops() ? std::nullopt : StageFlow::size(); }

  std::optional<DataPoint> next() override {
    while (std::optional<DataPoint> point = next_of_source())
      if (std::optional<DataPoint> out = apply_to(std::move(*point), index_++)) return out;
    return std::nullopt;
  }

  // As that of a map() with threads that is in order: how many there are may change between save and restore.
  FlowState state() const override {
    if (function_.random()) pass_.check(kind());
    FlowState state = StageFlow::state();
    state.numbers = {{"index", index_}};
    if (function_.random()) state.numbers.emplace_back("seed", seed_);
    return state;
  }

  void restore(const FlowState& state) override {
    pass_.begin([&] {
      StageFlow::restore(state);
      if (function_.random()) state.expect_number("seed", seed_);
      const bool in_order =
          std::ranges::none_of(state.numbers, [](const auto& n) { return is_consumed_ahead(n.first); });
      BELFRY_CHECK(in_order,
                   "[restore] expected the state of a '{}' in order, got one with .ordered = false in the middle of a "
                   "pass. Restore it into one with .threads, as it was built.",
                   kind());
      index_ = state.at("index");
    });
  }

  RandomAccess* random_access() override {
    return !function_.drops() && source().random_access() != nullptr ? this : nullptr;
  }
  std::int64_t count() const override { return source().random_access()->count(); }
  DataPoint at(std::int64_t index) const override {
    return *apply_to(source().random_access()->at(index), static_cast<std::uint64_t>(index));
  }
  std::optional<std::int64_t> next_index() override {
    const std::optional<std::int64_t> index =
        pass_.reading(kind(), [this] { return source().random_access()->next_index(); });
    if (index) ++index_;
    return index;
  }

 private:
  // Once it has thrown, nobody knows the index of what comes.
  std::optional<DataPoint> next_of_source() {
    return pass_.reading(kind(), [this] { return source().next(); });
  }

  std::optional<DataPoint> apply_to(DataPoint&& point, std::uint64_t index) const {
    return apply(function_, std::move(point), {seed_here_, source().epoch(), index}, *this, kind());
  }

  const PointFunction function_;
  const std::uint64_t seed_;       // as it was given
  const std::uint64_t seed_here_;  // and what numbers come from
  std::uint64_t index_ = 0;        // of the next point of the source
  PassGuard pass_;
};

}  // namespace

FlowParameters map_parameters(const PointFunction& function, std::uint64_t seed, bool ordered) {
  FlowParameters parameters;
  if (function.random()) parameters.emplace_back("seed", seed);
  if (!ordered) parameters.emplace_back("ordered", false);
  return parameters;
}

FlowStage map_as(const std::string& kind, const PointFunction& function, const MapOptions& options) {
  BELFRY_CHECK(options.threads >= 0, "[{}] expected 0 or more threads, got {}.", kind, options.threads);
  BELFRY_CHECK(options.buffer >= 0, "[{}] expected a buffer of 0 or more points, got {}.", kind, options.buffer);
  return FlowStage([=](Flow source) -> Flow {
    if (options.threads > 0) return parallel_map(std::move(source), kind, function, options);
    return std::make_shared<MapFlow>(std::move(source), kind, function, options.seed);
  });
}

void check_component(std::string_view kind, const DataPoint& point, std::size_t index) {
  BELFRY_CHECK(index < point.size(), "[{}] expected a point with a component {}, got one of {} component(s).", kind,
               index, point.size());
}

FlowStage map(PointFunction function, MapOptions options) {
  BELFRY_CHECK(function, "[map] expected a function, got an empty one.");
  return map_as("map", function, options);
}

FlowStage map_component(std::function<Array(Array)> function, std::size_t index, MapOptions options) {
  BELFRY_CHECK(function, "[map_component] expected a function, got an empty one.");
  const auto on_point = [function = std::move(function), index](DataPoint point) {
    check_component("map_component", point, index);
    point[index] = function(std::move(point[index]));
    return point;
  };
  return map_as("map_component", on_point, options);
}

FlowStage map_component(std::function<Array(Array, RandomStream&)> function, std::size_t index, MapOptions options) {
  BELFRY_CHECK(function, "[map_component] expected a function, got an empty one.");
  const auto on_point = [function = std::move(function), index](DataPoint point, RandomStream& random) {
    check_component("map_component", point, index);
    point[index] = function(std::move(point[index]), random);
    return point;
  };
  return map_as("map_component", on_point, options);
}

FlowStage filter(std::function<bool(const DataPoint&)> keep, MapOptions options) {
  BELFRY_CHECK(keep, "[filter] expected a function, got an empty one.");
  const auto on_point = [keep = std::move(keep)](DataPoint point) -> std::optional<DataPoint> {
    if (!keep(point)) return std::nullopt;
    return point;
  };
  return map_as("filter", on_point, options);
}

}  // namespace belfry
