#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace belfry {

// Where pixels lie: rows of `channels` bytes a pixel, `step` bytes apart. Grey or RGB.
struct BytePixels {
  const std::uint8_t* first = nullptr;
  int height = 0, width = 0, channels = 3;
  std::size_t step = 0;
};

// The contents of a file; quality 1 to 100. Throws "[where] ..." if a side is longer than a JPEG can have.
std::string write_jpeg(const char* where, const BytePixels& pixels, int quality);

}  // namespace belfry
