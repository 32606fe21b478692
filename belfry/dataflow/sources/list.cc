#include "belfry/dataflow/sources/list.h"

#include "belfry/dataflow/indexed_flow.h"
#include "belfry/dataflow/internal/uniform_points.h"

namespace belfry {
namespace {

class ListFlow final : public IndexedFlow {
 public:
  explicit ListFlow(std::vector<DataPoint> points)
      : IndexedFlow(FlowIdentity{.kind = "list", .parameters = {{"count", points.size()}}}),
        points_(std::move(points)) {
    for (const DataPoint& point : points_) uniform_.add(point);
  }

  std::int64_t count() const override { return static_cast<std::int64_t>(points_.size()); }
  DataPoint at(std::int64_t index) const override { return points_.at(static_cast<std::size_t>(index)); }

  const std::vector<ComponentSpec>* row_spec() const override { return uniform_.spec(); }
  void read_row(std::int64_t index, std::span<void* const> rows) const override {
    copy_to_rows(points_.at(static_cast<std::size_t>(index)), rows);
  }

 private:
  std::vector<DataPoint> points_;
  UniformPoints uniform_;
};

}  // namespace

Flow from_list(std::vector<DataPoint> points) { return std::make_shared<ListFlow>(std::move(points)); }

}  // namespace belfry
