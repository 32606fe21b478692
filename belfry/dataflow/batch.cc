#include "belfry/dataflow/batch.h"

#include <cstring>

#include "belfry/base/check.h"
#include "belfry/dataflow/stage_flow.h"

namespace belfry {
namespace {

Array make_stacked(std::int64_t rows, DType dtype, const Shape& row) {
  Shape shape{rows};
  for (std::int64_t d : row) shape.push_back(d);
  return Array(dtype, shape);
}

// Throws unless point `row` of a batch can stand below the first one.
void check_row(const DataPoint& first, const DataPoint& point, std::size_t row) {
  BELFRY_CHECK(point.size() == first.size(),
               "[batch] expected {} components in every point of the batch, got {} in row {}.", first.size(),
               point.size(), row);
  for (std::size_t k = 0; k < first.size(); ++k) {
    BELFRY_CHECK(point[k].dtype() == first[k].dtype(),
                 "[batch] expected one dtype for component {}, got {} in row 0 and {} in row {}. cast() it in a map().",
                 k, name_of(first[k].dtype()), name_of(point[k].dtype()), row);
    BELFRY_CHECK(
        point[k].shape() == first[k].shape(),
        "[batch] expected equal shapes for component {}, got {} in row 0 and {} in row {}. Resize or pad it in a "
        "map(), or use batch(1).",
        k, to_string(first[k].shape()), to_string(point[k].shape()), row);
  }
}

DataPoint stack(const std::vector<DataPoint>& points) {
  const DataPoint& first = points[0];
  for (std::size_t row = 1; row < points.size(); ++row) check_row(first, points[row], row);
  DataPoint out;
  out.reserve(first.size());
  for (std::size_t k = 0; k < first.size(); ++k) {
    out.push_back(make_stacked(static_cast<std::int64_t>(points.size()), first[k].dtype(), first[k].shape()));
    const std::size_t stride = first[k].bytes();
    if (stride == 0) continue;
    auto* to = static_cast<std::byte*>(out[k].raw());
    for (const DataPoint& point : points) {
      std::memcpy(to, point[k].raw(), stride);
      to += stride;
    }
  }
  return out;
}

class BatchFlow final : public StageFlow {
 public:
  BatchFlow(Flow source, std::int64_t points, Remainder remainder)
      : StageFlow(std::move(source), "batch", fmt::format("batch({})", points)),
        points_(static_cast<std::size_t>(points)),
        keep_(remainder == Remainder::keep) {}

  void start_epoch(std::uint64_t epoch) override {
    dtypes_.clear();
    StageFlow::start_epoch(epoch);
  }

  void restore(const FlowState& state) override {
    dtypes_.clear();
    StageFlow::restore(state);
  }

  std::optional<std::int64_t> size() const override {
    const auto points = static_cast<std::int64_t>(points_);
    const std::optional<std::int64_t> all = StageFlow::size();
    if (!all) return std::nullopt;
    return *all / points + (keep_ && *all % points != 0 ? 1 : 0);
  }

  std::optional<DataPoint> next() override {
    RandomAccess* access = source().random_access();
    std::optional<DataPoint> out =
        access != nullptr && access->row_spec() != nullptr ? next_from_rows(*access) : next_from_points();
    if (out) check_components(*out);
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
    return stack(points);
  }

  void check_components(const DataPoint& out) {
    BELFRY_CHECK(!out.empty(), "[batch] expected points with at least one component, got none.");
    if (dtypes_.empty()) {
      for (const Array& component : out) dtypes_.push_back(component.dtype());
      return;
    }
    BELFRY_CHECK(out.size() == dtypes_.size(),
                 "[batch] expected {} components as in the batches before, got {}. A flow keeps its components.",
                 dtypes_.size(), out.size());
    for (std::size_t k = 0; k < out.size(); ++k)
      BELFRY_CHECK(out[k].dtype() == dtypes_[k],
                   "[batch] expected {} for component {} as in the batches before, got {}. cast() it in a map().",
                   name_of(dtypes_[k]), k, name_of(out[k].dtype()));
  }

  const std::size_t points_;
  const bool keep_;
  std::vector<std::int64_t> indices_;
  std::vector<DType> dtypes_;  // of the pass so far; empty before its first batch
};

}  // namespace

FlowStage batch(std::int64_t points, Remainder remainder) {
  BELFRY_CHECK(points >= 1, "[batch] expected at least 1 point in a batch, got {}.", points);
  return FlowStage([=](Flow source) { return std::make_shared<BatchFlow>(std::move(source), points, remainder); });
}

}  // namespace belfry
