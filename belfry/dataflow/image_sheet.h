// A contact sheet: many images as one, to look at.
//
//   write_png("augmented.png", image_sheet(images, {.columns = 8}));
//   write_png("batch.png", image_sheet(rows_of(batch)));
#pragma once

#include <string>
#include <vector>

#include "belfry/array/array.h"
#include "belfry/array/rows.h"

#pragma GCC visibility push(default)
namespace belfry {

struct ImageSheetOptions {
  int columns = 8;
  std::vector<std::string> labels{};  // one under each image, or none at all; ASCII
  int gap = 4;                        // pixels between images
  int scale = 1;                      // each pixel becomes a square with sides of this many pixels: for small images
};

// u8 [height, width, 3], row by row on white; each place has the size of the largest image. Images are grey, RGB or
// RGBA as write_png() takes them, and may differ in size, type and channels; transparent pixels let the white through.
Array image_sheet(const std::vector<Array>& images, const ImageSheetOptions& options = {});

}  // namespace belfry
#pragma GCC visibility pop
