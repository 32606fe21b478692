#include <memory>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>

#include "belfry/base/file.h"
#include "belfry/dataflow/image/opencv/decode.h"
#include "belfry/dataflow/image/opencv/internal/decoding.h"
#include "belfry/dataflow/image/opencv/internal/encoding.h"
#include "belfry/dataflow/image/opencv/internal/mats.h"
#include "belfry/dataflow/internal/png_writer.h"

namespace belfry {
namespace {

void check_quality(const char* where, int quality) {
  BELFRY_CHECK(quality >= 1 && quality <= 100, "[{}] expected a quality from 1 to 100, got {}.", where, quality);
}

std::vector<unsigned char> jpeg_file(const char* where, const Array& image, int quality) {
  check_quality(where, quality);
  const cv::Mat pixels = mat_of(image, where);
  BELFRY_CHECK(image.shape()[2] == 1 || image.shape()[2] == 3,
               "[{}] expected 1 or 3 channels for a JPEG, got {}. Transparency needs a PNG.", where, image.shape()[2]);
  return with_opencv(where, [&] { return encode_mat(pixels, ".jpg", {cv::IMWRITE_JPEG_QUALITY, quality}); });
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

Array encode_jpeg(const Array& image, int quality) {
  const auto file = std::make_shared<std::vector<unsigned char>>(jpeg_file("encode_jpeg", image, quality));
  return Array(u8, {static_cast<std::int64_t>(file->size())}, file->data(), file);
}

void check_image_path(const std::string& path) {
  const std::string extension = extension_of(path);
  BELFRY_CHECK(extension == ".jpg" || extension == ".jpeg" || extension == ".png",
               "[write_image] expected a name that ends in .jpg, .jpeg or .png, got '{}'.", path);
}

void write_image(const std::string& path, const Array& image) {
  check_image_path(path);
  if (extension_of(path) == ".png") return write_file_atomically(path, png_file("write_image", image));
  const std::vector<unsigned char> file = jpeg_file("write_image", image, 95);
  write_file_atomically(path, {reinterpret_cast<const char*>(file.data()), file.size()});
}

}  // namespace belfry
