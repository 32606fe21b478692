// A picture of the images in a flow.
#pragma once

#include <string>

#include "belfry/dataflow/flow.h"

namespace belfry::tools {

// Throws if write_sheet() could not write to a file of that name.
void check_sheet(const std::string& path);

// Writes the first images of epoch 0, at most this many: of each point the first component that can be an image ([h,
// w], [h, w, 1, 3 or 4 channels], or a batch of these), with the number in the next scalar, or [n], component as its
// label. Values that are neither u8 nor in [0, 1] are scaled to it. Returns the number of images; throws if a point has
// none.
int write_sheet(const std::string& path, Flow flow, int most);

}  // namespace belfry::tools
