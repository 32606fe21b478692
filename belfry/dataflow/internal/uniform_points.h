// For sources that hold points in memory: whether they are all alike, and writing one to a batch's rows.
#pragma once

#include <cstring>
#include <span>
#include <vector>

#include "belfry/dataflow/dataflow.h"

namespace belfry {

class UniformPoints {
 public:
  void add(const DataPoint& point) {
    std::vector<ComponentSpec> spec;
    for (const Array& component : point) spec.push_back({component.dtype(), component.shape()});
    if (empty_) spec_ = spec;
    uniform_ = !spec.empty() && spec == spec_ && (uniform_ || empty_);
    empty_ = false;
  }
  // The components of the points so far, if all have the same: see RandomAccess::row_spec().
  const std::vector<ComponentSpec>* spec() const { return uniform_ ? &spec_ : nullptr; }

 private:
  std::vector<ComponentSpec> spec_;  // of the first point
  bool empty_ = true, uniform_ = false;
};

inline void copy_to_rows(const DataPoint& point, std::span<void* const> rows) {
  for (std::size_t k = 0; k < rows.size(); ++k)
    if (point[k].bytes() > 0) std::memcpy(rows[k], point[k].raw(), point[k].bytes());
}

}  // namespace belfry
