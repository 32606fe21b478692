// The rows of NumPy's arrays as datapoints.
#pragma once

#include <string>
#include <vector>

#include "belfry/array/npz.h"
#include "belfry/dataflow/flow.h"

#pragma GCC visibility push(default)
namespace belfry {

struct FromNpzOptions {
  std::vector<std::string> arrays = {};  // the components, in this order; none: all arrays, by name
};

// Point i holds row i, along the first axis, of each array: all arrays have equally many rows. With "x" f32 [60000,
// 784] and "y" i64 [60000], points are {f32 [784], i64 []}. The arrays are read at once; points share their memory.
// The rows of at least one array have elements: nothing else in the file vouches for their number.
Flow from_npz(const std::string& path, FromNpzOptions options = {});

}  // namespace belfry
#pragma GCC visibility pop
