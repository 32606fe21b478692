#include "belfry/dataflow/image/internal/options.h"

#include "belfry/base/check.h"

namespace belfry {

void check_size(const char* where, const ImageSize& size) {
  BELFRY_CHECK(size.height > 0 && size.width > 0, "[{}] expected a size of at least 1 x 1, got {} x {}.", where,
               size.height, size.width);
  BELFRY_CHECK(size.height <= kMaxMadeSide && size.width <= kMaxMadeSide,
               "[{}] expected a size of at most 2^20 x 2^20, got {} x {}.", where, size.height, size.width);
}

void check_interval(const char* where, const char* what, const Interval& interval, double least, double most) {
  BELFRY_CHECK(least <= interval.low && interval.low <= interval.high && interval.high <= most,
               "[{}] expected {} as a range within {} to {}, got {} to {}.", where, what, least, most, interval.low,
               interval.high);
}

}  // namespace belfry
