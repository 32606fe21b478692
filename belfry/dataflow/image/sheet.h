// A contact sheet: many images as one, to look at.
//
//   write_image("augmented.png", image_sheet(images, {.columns = 8}));
#pragma once

#include <string>
#include <vector>

#include "belfry/array/array.h"

namespace belfry {

struct ImageSheetOptions {
  int columns = 8;
  std::vector<std::string> labels{};  // one under each image, or none at all; ASCII
  int gap = 4;                        // pixels between images
};

// u8 [height, width, 3], row by row on white; each place has the size of the largest image. Images may differ in size,
// type and number of channels; f32 values are cut to [0, 1], transparent pixels let the white through.
Array image_sheet(const std::vector<Array>& images, const ImageSheetOptions& options = {});

}  // namespace belfry
