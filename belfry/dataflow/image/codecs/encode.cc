#include <memory>

#include "belfry/base/check.h"
#include "belfry/base/file.h"
#include "belfry/dataflow/image/codecs/decode.h"
#include "belfry/dataflow/image/codecs/internal/decoding.h"
#include "belfry/dataflow/image/codecs/internal/write_jpeg.h"
#include "belfry/dataflow/image/internal/image_view.h"
#include "belfry/dataflow/internal/byte_image.h"
#include "belfry/dataflow/internal/png_writer.h"

namespace belfry {
namespace {

std::string jpeg_file(const char* where, const Array& image, int quality) {
  BELFRY_CHECK(quality >= 1 && quality <= 100, "[{}] expected a quality from 1 to 100, got {}.", where, quality);
  check_image(image, where);
  const int channels = static_cast<int>(image.shape()[2]);
  BELFRY_CHECK(channels == 1 || channels == 3,
               "[{}] expected 1 or 3 channels for a JPEG, got {}. Transparency needs a PNG.", where, channels);
  const Array bytes = to_bytes(image);
  const int height = static_cast<int>(image.shape()[0]), width = static_cast<int>(image.shape()[1]);
  const BytePixels pixels{.first = bytes.values<std::uint8_t>().data(),
                          .height = height,
                          .width = width,
                          .channels = channels,
                          .step = static_cast<std::size_t>(width) * static_cast<std::size_t>(channels)};
  return write_jpeg(where, pixels, quality);
}

}  // namespace

Array encode_jpeg(const Array& image, int quality) {
  const auto file = std::make_shared<std::string>(jpeg_file("encode_jpeg", image, quality));
  return Array(u8, {static_cast<std::int64_t>(file->size())}, file->data(), file);
}

void check_image_path(const std::string& path) {
  const std::string extension = extension_of(path);
  BELFRY_CHECK(extension == ".jpg" || extension == ".jpeg" || extension == ".png",
               "[write_image] expected a name that ends in .jpg, .jpeg or .png, got '{}'.", path);
}

void write_image(const std::string& path, const Array& image) {
  check_image_path(path);
  const bool png = extension_of(path) == ".png";
  write_file_atomically(path, png ? png_file("write_image", image) : jpeg_file("write_image", image, 95));
}

}  // namespace belfry
