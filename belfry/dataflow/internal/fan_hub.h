// What the consumers of fan_out() share: the source, the points that not all have taken, and where each of them stands.
//
// Points of a pass are numbered 0, 1, ... Passes are counted too, from 0: consumers are at most one pass apart, when
// some have asked for the next one and the others are not through with this one.
#pragma once

#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "belfry/base/mutex.h"
#include "belfry/dataflow/fan_out.h"
#include "belfry/dataflow/internal/pass_guard.h"

namespace belfry {

class FanHub {
 public:
  FanHub(Flow source, const FanOutOptions& options);
  ~FanHub();

  // What the consumer of this number asks; each calls its own one at a time, cancel() excepted.
  void start_epoch(std::size_t consumer, std::uint64_t epoch);
  std::optional<DataPoint> next(std::size_t consumer);
  std::uint64_t epoch(std::size_t consumer) const;
  std::optional<std::int64_t> size(std::size_t consumer) const;
  bool endless() const;
  FlowState state(std::size_t consumer) const;
  void restore(std::size_t consumer, const FlowState& state);
  void cancel(std::size_t consumer);
  void leave(std::size_t consumer);  // for good
  FlowIdentity identity(std::size_t consumer) const;
  std::string describe(std::size_t consumer) const;

 private:
  // A place in the passes: before point `number` of pass `pass`, which is that of an epoch.
  struct Place {
    std::uint64_t pass = 0, epoch = 0, number = 0;
    FlowState source{};  // there; at number 0 always that of a new source, so that it can be named before it is reached
  };
  struct Wish {
    Place place;
    bool restored = false;   // else the beginning of a pass
    bool abandoned = false;  // the pass before was left in the middle
  };
  struct Consumer {
    Place place;            // after the last point taken
    bool finished = false;  // has been told of the end of the pass, or of its error
    PassGuard pass{};       // failed: it was told of the error
    bool cancelled = false;
    bool gone = false;
    IdentityText identity{};
    std::optional<Wish> wish{};  // where it wants to go once all want to
  };
  struct Held {
    DataPoint point;
    FlowState after{};  // the source's state after it
    int takers = 0;     // who have not taken it
  };
  class Feed;

  bool reading_on(const Consumer& consumer) const;  // has not reached, nor left, the end of the pass
  bool wants(std::size_t consumer, std::uint64_t number) const BELFRY_REQUIRES(mutex_);
  std::uint64_t next_number(std::size_t consumer) const BELFRY_REQUIRES(mutex_);
  void ask(std::size_t consumer, Wish wish) BELFRY_REQUIRES(mutex_);
  void drop_points_of(std::size_t consumer) BELFRY_REQUIRES(mutex_);

  bool begin_if_all_ask(std::size_t consumer) BELFRY_REQUIRES(mutex_);
  void check_wish(std::size_t consumer) const BELFRY_REQUIRES(mutex_);
  void begin_pass() BELFRY_REQUIRES(mutex_);
  void check_nobody_asks(std::size_t consumer) const BELFRY_REQUIRES(mutex_);

  std::optional<DataPoint> take(std::size_t consumer, std::uint64_t number) BELFRY_REQUIRES(mutex_);
  template <class Function>
  std::exception_ptr use_source(Function&& function) BELFRY_REQUIRES(mutex_);
  void read_point(std::size_t consumer) BELFRY_REQUIRES(mutex_);
  void put(DataPoint point, FlowState after) BELFRY_REQUIRES(mutex_);
  [[noreturn]] void fail_pass(Consumer& consumer) BELFRY_REQUIRES(mutex_);

  const FanOutOptions options_;
  const std::unique_ptr<Feed> feed_;  // the source: whoever has set reader_ uses it, without the mutex
  const std::string description_;
  const FlowIdentity source_identity_;
  const std::optional<std::int64_t> size_;
  const FlowState start_;  // the source's, when it was new

  mutable Mutex mutex_;
  Condition changed_;
  std::vector<Consumer> consumers_ BELFRY_GUARDED_BY(mutex_);
  std::map<std::uint64_t, Held> held_ BELFRY_GUARDED_BY(mutex_);  // by number
  Place read_ BELFRY_GUARDED_BY(mutex_);                          // after the last point read
  bool begun_ BELFRY_GUARDED_BY(mutex_) = false;                  // somebody has asked for a point of this pass
  bool ended_ BELFRY_GUARDED_BY(mutex_) = false;                  // there are no more
  bool seek_ BELFRY_GUARDED_BY(mutex_) = false;                   // the source must be brought to read_ first
  std::optional<std::size_t> reader_ BELFRY_GUARDED_BY(mutex_);
  std::exception_ptr error_ BELFRY_GUARDED_BY(mutex_);
};

}  // namespace belfry
