#include <memory>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>

#include "belfry/base/file.h"
#include "belfry/dataflow/image/decode.h"
#include "belfry/dataflow/image/internal/decoding.h"
#include "belfry/dataflow/image/internal/encoding.h"
#include "belfry/dataflow/image/internal/image_view.h"

namespace belfry {
namespace {

void check_quality(const char* where, int quality) {
  BELFRY_CHECK(quality >= 1 && quality <= 100, "[{}] expected a quality from 1 to 100, got {}.", where, quality);
}

Array encode(const char* where, const Array& image, const char* extension, const std::vector<int>& parameters) {
  const cv::Mat pixels = mat_of(image, where);
  std::vector<unsigned char> file = with_opencv(where, [&] { return encode_mat(pixels, extension, parameters); });
  const Shape shape{static_cast<std::int64_t>(file.size())};
  const auto owner = std::make_shared<std::vector<unsigned char>>(std::move(file));
  return Array(u8, shape, owner->data(), owner);
}

Array encode_jpeg_as(const char* where, const Array& image, int quality) {
  check_quality(where, quality);
  mat_of(image, where);
  BELFRY_CHECK(image.shape()[2] == 1 || image.shape()[2] == 3,
               "[{}] expected 1 or 3 channels for a JPEG, got {}. Transparency needs a PNG.", where, image.shape()[2]);
  return encode(where, image, ".jpg", {cv::IMWRITE_JPEG_QUALITY, quality});
}

Array encode_png_as(const char* where, const Array& image) {
  mat_of(image, where);
  BELFRY_CHECK(image.shape()[2] != 2, "[{}] expected 1, 3 or 4 channels for a PNG, got 2.", where);
  return encode(where, image, ".png", {});
}

}  // namespace

std::vector<unsigned char> encode_mat(const cv::Mat& image, const char* extension, const std::vector<int>& parameters) {
  cv::Mat pixels;
  if (image.depth() == CV_32F)
    image.convertTo(pixels, CV_8U, 255);
  else
    pixels = image;
  cv::Mat swapped;  // new memory: that of the image is not ours to change
  switch (pixels.channels()) {
    case 3: cv::cvtColor(pixels, swapped, cv::COLOR_RGB2BGR); break;
    case 4: cv::cvtColor(pixels, swapped, cv::COLOR_RGBA2BGRA); break;
    default: swapped = pixels;
  }
  std::vector<unsigned char> file;
  const bool encoded = cv::imencode(extension, swapped, file, parameters);
  BELFRY_BUG_IF(!encoded, "OpenCV did not encode a {} of {} x {}", extension, image.rows, image.cols);
  return file;
}

Array encode_jpeg(const Array& image, int quality) { return encode_jpeg_as("encode_jpeg", image, quality); }

Array encode_png(const Array& image) { return encode_png_as("encode_png", image); }

void check_image_path(const std::string& path) {
  const std::string extension = extension_of(path);
  BELFRY_CHECK(extension == ".jpg" || extension == ".jpeg" || extension == ".png",
               "[write_image] expected a name that ends in .jpg, .jpeg or .png, got '{}'.", path);
}

void write_image(const std::string& path, const Array& image) {
  check_image_path(path);
  const bool png = extension_of(path) == ".png";
  const Array file = png ? encode_png_as("write_image", image) : encode_jpeg_as("write_image", image, 95);
  write_file_atomically(path, {static_cast<const char*>(file.raw()), file.bytes()});
}

}  // namespace belfry
