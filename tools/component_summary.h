// A summary of one component over many points: dtypes, shapes, the range of its values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "belfry/array/array.h"

namespace belfry::tools {

class ComponentSummary {
 public:
  void add(const Array& array);

  std::string type() const;    // "f32 [28, 28, 1]"; dimensions that differ from point to point are "?"
  std::string values() const;  // "0 .. 1, mean 0.286", "no elements"

  double min() const { return min_; }
  double max() const { return max_; }

 private:
  std::optional<DType> dtype_;
  Shape shape_;
  bool one_rank_ = true, one_dtype_ = true;
  double min_ = 0, max_ = 0, sum_ = 0;
  std::int64_t finite_ = 0, not_finite_ = 0;
};

}  // namespace belfry::tools
