// PyTorch's DataLoader on the same folder of JPEGs, with the same augmentation and two workers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "belfry/array/array.h"

namespace belfry::bench {

struct DataLoaderRatio {
  double ratio = 0;  // ours to theirs
  double images_per_s = 0, dataloader_images_per_s = 0;
  std::string decoder;  // what decodes there: cv2, PIL
};

// The two take turns, with as many passes each; the best of each counts.
// Nothing if no Python with torch and a decoder is found (see peer_python.h).
std::optional<DataLoaderRatio> compare_with_dataloader(const std::vector<Array>& jpegs, int crop, int repeats);

}  // namespace belfry::bench
