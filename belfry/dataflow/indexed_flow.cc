#include "belfry/dataflow/indexed_flow.h"

#include "belfry/base/check.h"

namespace belfry {

IndexedFlow::IndexedFlow(FlowIdentity identity)
    : identity_(std::move(identity)), identity_text_(identity_text(identity_)) {}

IndexedFlow::IndexedFlow(std::string kind) : IndexedFlow(FlowIdentity{.kind = std::move(kind)}) { only_kind_ = true; }

FlowIdentity IndexedFlow::identity() const {
  FlowIdentity identity = identity_;
  if (only_kind_) identity.place = describe();
  return identity;
}

void IndexedFlow::start_epoch(std::uint64_t epoch) {
  cancelled_.lift();
  epoch_ = epoch;
  position_ = 0;
}

std::optional<std::int64_t> IndexedFlow::next_index() {
  cancelled_.check(*this);
  if (position_ >= count()) return std::nullopt;
  return position_++;
}

std::optional<DataPoint> IndexedFlow::next() {
  const std::optional<std::int64_t> index = next_index();
  if (!index) return std::nullopt;
  return at(*index);
}

FlowState IndexedFlow::state() const {
  return {kind(),
          {{"count", static_cast<std::uint64_t>(count())},
           {"epoch", epoch_},
           {"position", static_cast<std::uint64_t>(position_)}},
          {},
          identity_text_};
}

void IndexedFlow::restore(const FlowState& state) {
  state.expect_identity(identity_text_);
  state.expect(kind(), 0);
  state.expect_number("count", static_cast<std::uint64_t>(count()));
  const std::uint64_t position = state.at("position");
  BELFRY_CHECK(position <= static_cast<std::uint64_t>(count()),
               "[restore] expected a position of at most {} in '{}', got {}. The state is damaged.", count(), kind(),
               position);
  cancelled_.lift();
  epoch_ = state.at("epoch");
  position_ = static_cast<std::int64_t>(position);
}

DataPoint RowFlow::at(std::int64_t index) const {
  DataPoint point;
  std::vector<void*> rows;
  point.reserve(spec_.size());
  rows.reserve(spec_.size());
  for (const ComponentSpec& spec : spec_) rows.push_back(point.emplace_back(spec.dtype, spec.shape).raw());
  read_row(index, rows);
  return point;
}

}  // namespace belfry
