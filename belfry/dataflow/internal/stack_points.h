// How the points of a batch become one.
#pragma once

#include <string_view>
#include <vector>

#include "belfry/dataflow/batch.h"

namespace belfry {

// Throw unless point `row` of a batch matches the first one.
void check_count(std::string_view where, std::size_t first, std::size_t got, std::size_t row);
void check_dtype(std::string_view where, std::size_t component, DType first, DType got, std::size_t row);
void check_shape(std::string_view where, std::size_t component, const Shape& first, const Shape& got, std::size_t row);

// At least one point. Throws if they do not fit together; `where` names the stage, for messages.
DataPoint stack_points(const std::vector<DataPoint>& points, const BatchOptions& options, std::string_view where);

// Checks that all points of a flow have the same components.
class ComponentCheck {
 public:
  // `noun`: what is checked, "batches" or "points", for messages.
  ComponentCheck(std::string_view where, std::string_view noun) : where_(where), noun_(noun) {}

  void reset() { dtypes_.clear(); }
  // Throws unless the point has components, as many as those since reset() and of their dtypes.
  void check(const DataPoint& point);

 private:
  std::string_view where_, noun_;
  std::vector<DType> dtypes_;  // empty before the first
};

}  // namespace belfry
