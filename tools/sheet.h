// A picture of the images in some points.
#pragma once

#include <string>
#include <vector>

#include "belfry/dataflow/dataflow.h"

namespace belfry::tools {

// The images among the points' components (the first component that can be one: [h, w], [h, w, 1 or 3] or batches of
// them), at most so many, with the number in the next scalar or [n] component as label. Values that are neither u8 nor
// in [0, 1] are stretched to it. Returns how many images there are; throws if none.
int write_sheet(const std::string& path, const std::vector<DataPoint>& points, int most);

}  // namespace belfry::tools
