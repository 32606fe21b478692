#include "belfry/dataflow/flow.h"

#include "belfry/base/check.h"

namespace belfry {

DataFlow& Flow::operator*() const {
  BELFRY_CHECK(flow_ != nullptr, "[flow] expected a flow, got an empty handle. Assign one first.");
  return *flow_;
}

Flow::Iterator Flow::begin() {
  DataFlow& flow = unclaimed();
  Iterator first(flow);
  if (first != end()) return first;
  flow.start_epoch(flow.epoch() + 1);
  return Iterator(flow);
}

void Flow::refuse_claimed() const {
  fail(
      "[flow] expected a flow that feeds no other, got '{}', which feeds another flow: the two would take each other's "
      "points. Read the other one, or share this one with fan_out().",
      describe());
}

std::int64_t Flow::known_size() const {
  const std::optional<std::int64_t> points = size();
  BELFRY_CHECK(points.has_value(),
               "[size] expected a flow of known length, got '{}', which has {}. {} give the number of steps.",
               describe(), (**this).endless() ? "no end" : "an unknown length",
               (**this).endless() ? "Ask before repeat(), or" : "Count its points, or");
  return *points;
}

Flow operator|(Flow flow, const FlowStage& stage) { return stage(std::move(flow)); }

FlowStage operator|(FlowStage first, FlowStage second) {
  return FlowStage(
      [first = std::move(first), second = std::move(second)](Flow flow) { return second(first(std::move(flow))); });
}

}  // namespace belfry
