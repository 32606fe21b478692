// What the caches have in common: a position in points that are kept somewhere, and what they read them from.
#pragma once

#include <atomic>

#include "belfry/base/mutex.h"
#include "belfry/dataflow/cancel_flag.h"
#include "belfry/dataflow/internal/flow_checks.h"
#include "belfry/dataflow/internal/pass_guard.h"
#include "belfry/dataflow/stage_flow.h"

namespace belfry {

// Offers random access. Every pass is epoch 0 of the source, which is read when its points are first needed; what has
// been kept is not read again, whatever passes are begun or positions restored. count() and at() are the cache's own.
class CachedFlow : public StageFlow, public RandomAccess {
 public:
  CachedFlow(Flow source, std::string kind, std::string label);

  void start_epoch(std::uint64_t epoch) override;
  std::uint64_t epoch() const override { return epoch_; }
  // The source's own: counting would read all points, and an endless source without an end.
  std::optional<std::int64_t> size() const override { return source_size_; }
  std::optional<DataPoint> next() override;
  std::optional<std::int64_t> next_index() override;
  FlowState state() const override;
  void restore(const FlowState& state) override;
  RandomAccess* random_access() override { return this; }
  void cancel() override;

 protected:
  // Whether there is a point of this index. Reads no further than needed to know.
  virtual bool has(std::int64_t index) const = 0;
  // Drops what was read so far: reading is about to start over. (After a cancel it continues after what is kept.)
  virtual void forget() BELFRY_REQUIRES(mutex_) {}

  // Reads from the source. If that throws, nothing more can be read until a pass begins or a position is restored: the
  // source has lost a point, or gives none. What reads many points checks for each whether it is cancelled: a source
  // that waits for nobody does not.
  template <class Read>
  void read_with(Read&& read) const BELFRY_REQUIRES(mutex_) {
    check_not_cancelled();
    pass_.check(kind());
    pass_.fail();  // if it throws. Not by reading(): the lock analysis does not follow the mutex into it
    read(source());
    pass_.begin();
  }

  void check_not_cancelled() const { cancelled_.check(*this); }

  // What was read so far is kept: the source need not be read again before where it stands.
  void keep_so_far() const BELFRY_REQUIRES(mutex_) { reached_ = source().state(); }

  std::optional<std::int64_t> source_size() const { return source_size_; }

  // Held while the source is read and while what was read is put away, until complete_: then nothing changes any more.
  // at() and the like come from several threads.
  mutable Mutex mutex_;
  mutable std::atomic<bool> complete_ = false;

 private:
  bool has_more() const;
  void check_position(std::uint64_t position, std::int64_t points) const;
  void make_ready();

  const std::optional<std::int64_t> source_size_;
  const FlowState source_start_;  // at the beginning of epoch 0: part of our states, to see that it is the same source
  std::uint64_t epoch_ = 0;
  std::int64_t position_ = 0;
  mutable std::optional<FlowState> reached_ BELFRY_GUARDED_BY(mutex_);  // the source's state after what is kept
  mutable PassGuard pass_ BELFRY_GUARDED_BY(mutex_);
  CancelFlag cancelled_;
};

}  // namespace belfry
