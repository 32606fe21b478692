#include "tools/component_summary.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace belfry::tools {

void ComponentSummary::add(const Array& array) {
  if (!dtype_) {
    dtype_ = array.dtype();
    shape_ = array.shape();
  }
  one_dtype_ = one_dtype_ && *dtype_ == array.dtype();
  one_rank_ = one_rank_ && shape_.rank() == array.shape().rank();
  if (one_rank_)
    for (int axis = 0; axis < shape_.rank(); ++axis)
      if (shape_[axis] != array.shape()[axis]) shape_.set(axis, kAny);
  for (std::int64_t i = 0; i < array.elements(); ++i) {
    const double value = array.item(i);
    if (!std::isfinite(value)) {
      ++not_finite_;
      continue;
    }
    min_ = finite_ == 0 ? value : std::min(min_, value);
    max_ = finite_ == 0 ? value : std::max(max_, value);
    sum_ += value;
    ++finite_;
  }
}

std::string ComponentSummary::type() const {
  if (!dtype_) return "nothing";
  return fmt::format("{} {}", one_dtype_ ? name_of(*dtype_) : "several dtypes",
                     one_rank_ ? to_string(shape_) : "with several ranks");
}

std::string ComponentSummary::values() const {
  std::string out = "no elements";
  if (finite_ > 0) out = fmt::format("{:.5g} .. {:.5g}, mean {:.5g}", min_, max_, sum_ / static_cast<double>(finite_));
  if (finite_ == 0 && not_finite_ > 0) out = "none finite";
  if (not_finite_ > 0) out += fmt::format(", {} NaN or infinite", not_finite_);
  return out;
}

}  // namespace belfry::tools
