// EXIF: what cameras write beside a picture, as the directory of a TIFF file.
#pragma once

#include <cstddef>
#include <span>

namespace belfry {

// How the picture is to be turned, 1 to 8; 1, as it is, if that is not said or cannot be read. Begins with TIFF's "II"
// or "MM", or with "Exif\0\0" before that.
int exif_orientation(std::span<const std::byte> exif);

}  // namespace belfry
