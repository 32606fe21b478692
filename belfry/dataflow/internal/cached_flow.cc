#include "belfry/dataflow/internal/cached_flow.h"

#include <cstdint>

#include "belfry/base/check.h"

namespace belfry {

CachedFlow::CachedFlow(Flow source, std::string kind, std::string label)
    : StageFlow(std::move(source), std::move(kind), std::move(label)),
      source_size_(StageFlow::size()),
      source_start_(StageFlow::source().state()) {
  check_ends(StageFlow::source(), StageFlow::kind());
  check_ordered(StageFlow::source(), StageFlow::kind());
}

void CachedFlow::start_epoch(std::uint64_t epoch) {
  make_ready();
  epoch_ = epoch;
  position_ = 0;
}

// A restored position is only now known to lie within the pass: restore() reads nothing.
bool CachedFlow::has_more() const {
  check_not_cancelled();
  if (has(position_)) return true;
  check_position(static_cast<std::uint64_t>(position_), count());
  return false;
}

std::optional<std::int64_t> CachedFlow::next_index() {
  if (!has_more()) return std::nullopt;
  return position_++;
}

std::optional<DataPoint> CachedFlow::next() {
  if (!has_more()) return std::nullopt;
  DataPoint point = at(position_);
  ++position_;  // only now: a point that could not be read is still the next one
  return point;
}

FlowState CachedFlow::state() const {
  return {kind(),
          {{"epoch", epoch_}, {"position", static_cast<std::uint64_t>(position_)}},
          {source_start_},
          own_identity()};
}

void CachedFlow::restore(const FlowState& state) {
  state.expect_identity(own_identity());
  state.expect(kind(), 1);
  BELFRY_CHECK(state.from[0] == source_start_,
               "[restore] expected a state of '{}' over {}, got one over {}. The flow must be built as it was when the "
               "state was taken.",
               kind(), to_string(source_start_), to_string(state.from[0]));
  const std::uint64_t position = state.at("position"), epoch = state.at("epoch");
  check_position(position, complete_ ? count() : source_size_.value_or(INT64_MAX - 1));
  make_ready();
  epoch_ = epoch;
  position_ = static_cast<std::int64_t>(position);
}

void CachedFlow::check_position(std::uint64_t position, std::int64_t points) const {
  BELFRY_CHECK(position <= static_cast<std::uint64_t>(points),
               "[restore] expected a position of at most {} in '{}', got {}. The state is damaged.", points, kind(),
               position);
}

void CachedFlow::cancel() {
  cancelled_.set();
  StageFlow::cancel();
}

void CachedFlow::make_ready() {
  const MutexLock lock(mutex_);
  const bool cancelled = cancelled_.lift();
  if (complete_ || (!pass_.failed() && !cancelled)) return;
  pass_.fail();  // if the source throws
  if (!cancelled) {
    forget();
    reached_.reset();
  }
  if (reached_)
    source().restore(*reached_);
  else
    source().start_epoch(0);
  pass_.begin();
}

}  // namespace belfry
