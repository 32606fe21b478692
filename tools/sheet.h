// A picture of the images in a flow.
#pragma once

#include <string>

#include "belfry/dataflow/flow.h"

namespace belfry::tools {

// Throws if write_sheet() could not write to a file of that name.
void check_sheet(const std::string& path);

// The first images of epoch 0, at most so many: of each point the first component that can be one ([h, w], [h, w, 1, 3
// or 4 channels], or a batch of such), with the number in the next scalar, or [n], component as its label. Values that
// are neither u8 nor in [0, 1] are stretched to it. Returns how many images there are; throws if a point has none.
int write_sheet(const std::string& path, Flow flow, int most);

}  // namespace belfry::tools
