#include "belfry/dataflow/batch.h"

#include "belfry/base/check.h"
#include "belfry/dataflow/internal/stack_points.h"
#include "belfry/dataflow/stage_flow.h"

namespace belfry {
namespace {

class BatchFlow final : public StageFlow {
 public:
  BatchFlow(Flow source, std::int64_t points, const BatchOptions& options)
      : StageFlow(std::move(source), "batch", fmt::format("batch({})", points)),
        points_(static_cast<std::size_t>(points)),
        keep_(options.remainder == Remainder::keep),
        options_(options) {}

  void start_epoch(std::uint64_t epoch) override {
    components_.reset();
    StageFlow::start_epoch(epoch);
  }

  void restore(const FlowState& state) override {
    components_.reset();
    StageFlow::restore(state);
  }

  std::optional<std::int64_t> size() const override {
    const auto points = static_cast<std::int64_t>(points_);
    const std::optional<std::int64_t> all = StageFlow::size();
    if (!all) return std::nullopt;
    return *all / points + (keep_ && *all % points != 0 ? 1 : 0);
  }

  std::optional<DataPoint> next() override {
    RandomAccess* access = options_.ragged == Ragged::refuse ? source().random_access() : nullptr;
    std::optional<DataPoint> out =
        access != nullptr && access->row_spec() != nullptr ? next_from_rows(*access) : next_from_points();
    if (out) components_.check(*out);
    return out;
  }

 private:
  bool is_batch(std::size_t points) const { return points == points_ || (keep_ && points > 0); }

  // The source writes each point to its place: no array is made for a single point.
  std::optional<DataPoint> next_from_rows(RandomAccess& access) {
    indices_.clear();
    while (indices_.size() < points_) {
      const std::optional<std::int64_t> index = access.next_index();
      if (!index) break;
      indices_.push_back(*index);
    }
    if (!is_batch(indices_.size())) return std::nullopt;
    const std::vector<ComponentSpec>& spec = *access.row_spec();
    DataPoint out;
    out.reserve(spec.size());
    std::vector<void*> rows;
    std::vector<std::size_t> strides;
    for (const ComponentSpec& component : spec) {
      out.push_back(make_stacked(static_cast<std::int64_t>(indices_.size()), component.dtype, component.shape));
      rows.push_back(out.back().raw());
      strides.push_back(out.back().bytes() / indices_.size());
    }
    for (std::int64_t index : indices_) {
      access.read_row(index, rows);
      for (std::size_t k = 0; k < rows.size(); ++k) rows[k] = static_cast<std::byte*>(rows[k]) + strides[k];
    }
    return out;
  }

  std::optional<DataPoint> next_from_points() {
    std::vector<DataPoint> points;
    while (points.size() < points_) {
      std::optional<DataPoint> point = source().next();
      if (!point) break;
      points.push_back(std::move(*point));
    }
    if (!is_batch(points.size())) return std::nullopt;
    return stack_points(points, options_, kind());
  }

  const std::size_t points_;
  const bool keep_;
  const BatchOptions options_;
  std::vector<std::int64_t> indices_;
  ComponentCheck components_{"batch", "batches"};
};

}  // namespace

FlowStage batch(std::int64_t points, Remainder remainder) {
  return batch(points, BatchOptions{.remainder = remainder});
}

FlowStage batch(std::int64_t points, BatchOptions options) {
  BELFRY_CHECK(points >= 1, "[batch] expected at least 1 point in a batch, got {}.", points);
  BELFRY_CHECK(options.ragged != Ragged::refuse || options.ragged_components.empty(),
               "[batch] expected a kind of .ragged for the .ragged_components, got Ragged::refuse.");
  return FlowStage([points, options = std::move(options)](Flow source) {
    return std::make_shared<BatchFlow>(std::move(source), points, options);
  });
}

}  // namespace belfry
