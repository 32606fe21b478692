#include "belfry/dataflow/map.h"

#include "belfry/base/check.h"
#include "belfry/dataflow/stage_flow.h"

namespace belfry {
namespace {

// Offers random access if its source does: the function is then applied to the points that are asked for.
class MapFlow final : public StageFlow, public RandomAccess {
 public:
  MapFlow(Flow source, const char* kind, std::function<DataPoint(DataPoint)> function)
      : StageFlow(std::move(source), kind, kind), function_(std::move(function)) {}

  std::optional<DataPoint> next() override {
    std::optional<DataPoint> point = source().next();
    if (!point) return std::nullopt;
    return function_(std::move(*point));
  }

  RandomAccess* random_access() override { return source().random_access() != nullptr ? this : nullptr; }
  std::int64_t count() const override { return source().random_access()->count(); }
  DataPoint at(std::int64_t index) const override { return function_(source().random_access()->at(index)); }
  std::optional<std::int64_t> next_index() override { return source().random_access()->next_index(); }

 private:
  std::function<DataPoint(DataPoint)> function_;
};

}  // namespace

FlowStage map(std::function<DataPoint(DataPoint)> function) {
  BELFRY_CHECK(function, "[map] expected a function, got an empty one.");
  return FlowStage([=](Flow source) { return std::make_shared<MapFlow>(std::move(source), "map", function); });
}

FlowStage map_component(std::function<Array(Array)> function, std::size_t index) {
  BELFRY_CHECK(function, "[map_component] expected a function, got an empty one.");
  auto on_point = [=](DataPoint point) {
    BELFRY_CHECK(index < point.size(),
                 "[map_component] expected a point with a component {}, got one of {} component(s).", index,
                 point.size());
    point[index] = function(std::move(point[index]));
    return point;
  };
  return FlowStage(
      [=](Flow source) { return std::make_shared<MapFlow>(std::move(source), "map_component", on_point); });
}

}  // namespace belfry
