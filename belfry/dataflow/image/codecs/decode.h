// Images as files and as arrays.
//
// An image is an Array [height, width, channels]: u8, where 255 is white, or f32, where 1 is. Colours are in the order
// red, green, blue, unless asked for otherwise.
//
//   Array photo = read_image("photo.jpg");
//   Flow train = from_list(jpegs) | decode_images({.threads = 4}) | ...
//
// JPEG, PNG and WebP are read by libjpeg-turbo, libpng and libwebp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "belfry/array/array.h"
#include "belfry/dataflow/flow.h"
#include "belfry/dataflow/map.h"
#include "belfry/dataflow/png.h"

#pragma GCC visibility push(default)
namespace belfry {

enum class ImageChannels : std::uint8_t {
  rgb,        // 3; grey becomes colour, transparency is dropped
  bgr,        // 3, in the order of OpenCV
  grey,       // 1
  unchanged,  // what the file has: grey, RGB or RGBA
};

struct DecodeOptions {
  ImageChannels channels = ImageChannels::rgb;
  // Cameras store a photo as the sensor saw it, and in EXIF how to turn it upright. By default that is done. Never with
  // ImageChannels::unchanged.
  bool orient = true;
  // A JPEG that is damaged inside decodes, to other pixels: libjpeg only warns. With this its warnings are errors. So
  // are wrong checksums of those chunks of a PNG that are no pixels, which are passed over otherwise.
  bool strict = false;
};

// JPEG, PNG or WebP. Images of 16 bits become u8; with ImageChannels::unchanged they are an error. Throws Error on what
// is no such image, and on one that ends early, that its decoder refuses or that has more than 2^30 pixels. `bytes` is
// u8 [n].
Array decode_image(const Array& bytes, DecodeOptions options = {});
Array decode_image(std::span<const std::byte> bytes, DecodeOptions options = {});

// u8 [n]: the contents of a file. Of f32 images, values are cut to [0, 1]. encode_png() is in png.h.
Array encode_jpeg(const Array& image, int quality = 95);  // 1 or 3 channels; quality 1 to 100

// The same with files. The format to write is taken from the name: .jpg, .jpeg or .png; the file is written entirely or
// not at all. Throws FileError, with the path.
Array read_image(const std::string& path, DecodeOptions options = {});
void write_image(const std::string& path, const Array& image);
// Throws unless write_image() knows the format that the name asks for: to find out before the work.
void check_image_path(const std::string& path);

// Which images were skipped. Copies share the list, and any thread may read it.
class SkippedImages {
 public:
  SkippedImages();
  std::int64_t count() const;              // how many times one was
  std::vector<std::string> files() const;  // the paths of those that come from files, each once, in order of the names
  std::int64_t add(const std::string& file = "");  // the count with it
  void clear();

 private:
  struct List;
  std::shared_ptr<List> list_;
};

enum class OnBadImage : std::uint8_t {
  fail,
  // The point is dropped and counted. The first one is a warning in the log, and so is the list of them at the end of
  // each pass: how many, and the first ten files.
  skip,
};

struct DecodeImagesOptions {
  std::size_t component = 0;
  ImageChannels channels = ImageChannels::rgb;
  bool orient = true;
  bool strict = false;  // as in DecodeOptions
  OnBadImage on_error = OnBadImage::fail;
  // With OnBadImage::skip: collects all, over all epochs, and with threads what was read ahead.
  SkippedImages skipped{};
  // As in MapOptions.
  int threads = 0;
  bool ordered = true;
  int buffer = 0;
};

// The stage: the component, bytes of an image file, becomes the image. With OnBadImage::skip the flow has no known size
// and no random access: put shuffle() before it.
FlowStage decode_images(DecodeImagesOptions options = {});

}  // namespace belfry
#pragma GCC visibility pop
