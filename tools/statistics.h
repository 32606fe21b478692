// What numbers a tensor holds, in one pass over its memory.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "belfry/array/array.h"

namespace belfry::tools {

struct Statistics {
  std::int64_t finite = 0, nans = 0, infinities = 0, zeros = 0;
  double min = 0, max = 0, mean = 0, squares = 0;  // of the finite ones; squares: sum of (x - mean)^2

  // Of all of them, not of a sample. NaN if no value is finite, as the others then are.
  double standard_deviation() const;
};

// Uses both cores, also within one tensor. The result does not depend on how many there are.
std::map<std::string, Statistics> statistics_of(const std::map<std::string, Array>& tensors);

}  // namespace belfry::tools
