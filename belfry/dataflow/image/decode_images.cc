#include <atomic>

#include "belfry/base/check.h"
#include "belfry/base/log.h"
#include "belfry/dataflow/image/decode.h"
#include "belfry/dataflow/image/internal/decoding.h"
#include "belfry/dataflow/internal/map_as.h"

namespace belfry {
namespace {

constexpr const char* kWhere = "decode_images";

void decode_component(DataPoint& point, const DecodeImagesOptions& options) {
  check_component(kWhere, point, options.component);
  Array& component = point[options.component];
  component = decode_as(kWhere, bytes_of(component, kWhere), {options.channels, options.orient});
}

}  // namespace

struct SkippedImages::Counter {
  std::atomic<std::int64_t> count{0};
};

SkippedImages::SkippedImages() : counter_(std::make_shared<Counter>()) {}
std::int64_t SkippedImages::count() const { return counter_->count; }
std::int64_t SkippedImages::add_one() { return ++counter_->count; }

FlowStage decode_images(DecodeImagesOptions options) {
  const MapOptions map_options{.threads = options.threads, .ordered = options.ordered, .buffer = options.buffer};
  if (options.on_error == OnBadImage::fail)
    return map_as(
        kWhere,
        [options](DataPoint point) {
          decode_component(point, options);
          return point;
        },
        map_options);
  const auto decode_or_skip = [options](DataPoint point) -> std::optional<DataPoint> {
    // A point of the wrong form is a mistake in the program, not in the data.
    check_component(kWhere, point, options.component);
    bytes_of(point[options.component], kWhere);
    try {
      decode_component(point, options);
      return point;
    } catch (const InternalError&) {
      throw;  // our mistake, not the image's
    } catch (const Error& e) {
      SkippedImages skipped = options.skipped;
      if (skipped.add_one() == 1)
        log_warning(fmt::format("an image is skipped, and so will be others like it without a warning: {}", e.what()));
      return std::nullopt;
    }
  };
  return map_as(kWhere, decode_or_skip, map_options);
}

}  // namespace belfry
