// What the readers of image formats share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "belfry/array/array.h"
#include "belfry/dataflow/image/codecs/decode.h"

namespace belfry {

// The bytes of a file, and what is to be made of them.
struct EncodedImage {
  const char* where = "";  // whom errors name
  std::span<const std::byte> bytes;
  DecodeOptions options{};
  std::uint64_t most_pixels = std::uint64_t{1} << 30;

  bool must_orient() const { return options.orient && options.channels != ImageChannels::unchanged; }
  // Throws if the file claims a picture of more than most_pixels.
  void check_pixels(std::uint64_t width, std::uint64_t height) const;
};

// An image as it is stored, and how EXIF says that it is to be turned: 1 to 8, where 1 is upright, and 1 unless
// must_orient().
struct DecodedImage {
  Array image;
  int orientation = 1;
};

// Of a file of that format; each throws "[where] ..." if it is damaged.
DecodedImage read_jpeg(const EncodedImage& file);
DecodedImage read_png(const EncodedImage& file);
DecodedImage read_webp(const EncodedImage& file);

// Of any of them, upright.
Array decode_picture(const EncodedImage& file);

// The grey of RGB pixels in fixed point, 0.299 red + 0.587 green + 0.114 blue: the same bits as OpenCV's.
void to_grey(const std::uint8_t* rgb, std::size_t count, std::uint8_t* grey);

}  // namespace belfry
