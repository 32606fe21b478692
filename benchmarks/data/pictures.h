// Pictures to measure with: smooth, with some noise, so that a JPEG of one is about as long as that of a photo.
#pragma once

#include <string>
#include <vector>

#include "belfry/array/array.h"

namespace belfry::bench {

// JPEG files, u8 [n] each, all different.
std::vector<Array> make_jpegs(int count, int side);

// The same as files <directory>/<class>/<number>.jpg, in ten classes.
void write_jpegs(const std::string& directory, const std::vector<Array>& jpegs);

}  // namespace belfry::bench
