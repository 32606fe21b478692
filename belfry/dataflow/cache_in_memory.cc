#include <cstdint>
#include <deque>

#include "belfry/base/check.h"
#include "belfry/dataflow/cache.h"
#include "belfry/dataflow/internal/cached_flow.h"
#include "belfry/dataflow/internal/uniform_points.h"

namespace belfry {
namespace {

class MemoryCacheFlow final : public CachedFlow {
 public:
  explicit MemoryCacheFlow(Flow source) : CachedFlow(std::move(source), "cache_in_memory", "cache_in_memory") {}

  std::int64_t count() const override { return read_until(INT64_MAX); }

  DataPoint at(std::int64_t index) const override {
    const bool there = has(index);
    BELFRY_BUG_IF(!there, "point {} of {} is asked for", index, count());
    if (complete_) return points_[static_cast<std::size_t>(index)];
    const MutexLock lock(mutex_);
    return points_[static_cast<std::size_t>(index)];
  }

  // Known when all points are: until then batch() takes them one by one.
  const std::vector<ComponentSpec>* row_spec() const override { return complete_ ? uniform_.spec() : nullptr; }
  void read_row(std::int64_t index, std::span<void* const> rows) const override {
    copy_to_rows(points_.at(static_cast<std::size_t>(index)), rows);
  }

 private:
  bool has(std::int64_t index) const override { return index < read_until(index + 1); }

  void forget() override {
    points_.clear();
    uniform_ = {};
  }

  // Reads until this many points are kept, or all. Returns how many are.
  std::int64_t read_until(std::int64_t wanted) const {
    if (complete_) return kept();
    const MutexLock lock(mutex_);
    while (!complete_ && kept() < wanted)
      read_with([this](DataFlow& source) BELFRY_REQUIRES(mutex_) { read_point(source); });
    return kept();
  }

  void read_point(DataFlow& source) const BELFRY_REQUIRES(mutex_) {
    std::optional<DataPoint> point = source.next();
    if (!point) {
      check_not_cancelled();  // a cancelled source may have ended early
      complete_ = true;
      return;
    }
    uniform_.add(*point);
    points_.push_back(std::move(*point));
    keep_so_far();
  }

  std::int64_t kept() const { return static_cast<std::int64_t>(points_.size()); }

  // Guarded by the mutex until complete_.
  mutable std::deque<DataPoint> points_;
  mutable UniformPoints uniform_;
};

}  // namespace

FlowStage cache_in_memory() {
  return FlowStage([](Flow source) { return std::make_shared<MemoryCacheFlow>(std::move(source)); });
}

}  // namespace belfry
