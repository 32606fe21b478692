#include "belfry/dataflow/sources/list.h"

#include <algorithm>
#include <cstring>

#include "belfry/dataflow/indexed_flow.h"

namespace belfry {
namespace {

std::vector<ComponentSpec> specs_of(const DataPoint& point) {
  std::vector<ComponentSpec> specs;
  for (const Array& component : point) specs.push_back({component.dtype(), component.shape()});
  return specs;
}

class ListFlow final : public IndexedFlow {
 public:
  explicit ListFlow(std::vector<DataPoint> points) : IndexedFlow("list"), points_(std::move(points)) {
    if (points_.empty()) return;
    spec_ = specs_of(points_[0]);
    uniform_ = !spec_.empty() && std::ranges::all_of(points_, [&](const DataPoint& p) { return specs_of(p) == spec_; });
  }

  std::int64_t count() const override { return static_cast<std::int64_t>(points_.size()); }
  DataPoint at(std::int64_t index) const override { return points_.at(static_cast<std::size_t>(index)); }

  const std::vector<ComponentSpec>* row_spec() const override { return uniform_ ? &spec_ : nullptr; }
  void read_row(std::int64_t index, std::span<void* const> rows) const override {
    const DataPoint& point = points_.at(static_cast<std::size_t>(index));
    for (std::size_t k = 0; k < rows.size(); ++k)
      if (point[k].bytes() > 0) std::memcpy(rows[k], point[k].raw(), point[k].bytes());
  }

 private:
  std::vector<DataPoint> points_;
  std::vector<ComponentSpec> spec_;  // of the first point
  bool uniform_ = false;             // all points are like the first
};

}  // namespace

Flow from_list(std::vector<DataPoint> points) { return std::make_shared<ListFlow>(std::move(points)); }

}  // namespace belfry
