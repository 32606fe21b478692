#include "belfry/dataflow/speed_test.h"

#include "belfry/base/check.h"
#include "belfry/base/progress_line.h"

namespace belfry {
namespace {

// The bytes of the next point, of the next epoch if this one has ended.
std::size_t read_point(Flow& flow) {
  std::optional<DataPoint> point = flow.next();
  if (!point) {
    flow.start_epoch(flow.epoch() + 1);
    point = flow.next();
    BELFRY_CHECK(point.has_value(), "[speed_test] expected a flow with points, got an empty pass of '{}'.",
                 flow.describe());
  }
  std::size_t bytes = 0;
  for (const Array& component : *point) bytes += component.bytes();
  return bytes;
}

}  // namespace

FlowSpeed speed_test(Flow flow, SpeedTestOptions options) {
  BELFRY_CHECK(options.points >= 1 && options.warmup >= 0,
               "[speed_test] expected 1 or more points after 0 or more to warm up, got {} after {}.", options.points,
               options.warmup);
  for (std::int64_t i = 0; i < options.warmup; ++i) read_point(flow);
  ProgressLine line(options.stream, options.progress ? std::nullopt : std::optional(false));
  const double begin = monotonic_seconds();
  FlowSpeed speed;
  std::size_t bytes = 0;
  while (speed.points < options.points) {
    bytes += read_point(flow);
    ++speed.points;
    if (line.due())
      line.draw(progress_text(
          {.done = speed.points, .total = options.points, .seconds = monotonic_seconds() - begin, .unit = "points"}));
  }
  speed.seconds = monotonic_seconds() - begin;
  line.clear();
  const double seconds = speed.seconds > 0 ? speed.seconds : 1e-9;  // the clock's step
  speed.points_per_second = static_cast<double>(speed.points) / seconds;
  speed.megabytes_per_second = static_cast<double>(bytes) / 1e6 / seconds;
  return speed;
}

}  // namespace belfry
