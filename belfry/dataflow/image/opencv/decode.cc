#include "belfry/dataflow/image/opencv/decode.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>

#include "belfry/base/file.h"
#include "belfry/dataflow/image/opencv/internal/decoding.h"
#include "belfry/dataflow/image/opencv/internal/image_end.h"
#include "belfry/dataflow/image/opencv/internal/mats.h"
#include "belfry/dataflow/image/opencv/internal/strict_jpeg.h"
#include "belfry/dataflow/image/opencv/internal/swap_channels.h"

namespace belfry {
namespace {

int flags_of(const DecodeOptions& options) {
  if (options.channels == ImageChannels::unchanged) return cv::IMREAD_UNCHANGED;
  const int colours = options.channels == ImageChannels::grey ? cv::IMREAD_GRAYSCALE : cv::IMREAD_COLOR;
  return options.orient ? colours : colours | cv::IMREAD_IGNORE_ORIENTATION;
}

// OpenCV gives colours as blue, green, red.
void to_rgb(cv::Mat& image) {
  if (image.type() == CV_8UC3 && image.isContinuous())
    swap_red_and_blue(image.ptr(), image.total());
  else if (image.channels() == 3)
    cv::cvtColor(image, image, cv::COLOR_BGR2RGB);
  else if (image.channels() == 4)
    cv::cvtColor(image, image, cv::COLOR_BGRA2RGBA);
}

}  // namespace

Array decode_as(const char* where, std::span<const std::byte> bytes, const DecodeOptions& options) {
  BELFRY_CHECK(!bytes.empty(), "[{}] expected the bytes of an image, got none.", where);
  BELFRY_CHECK(bytes.size() <= 0x7fffffff, "[{}] expected at most 2 GiB, got {} bytes.", where, bytes.size());
  BELFRY_CHECK(!is_cut_jpeg(bytes), "[{}] expected a whole JPEG, got {} bytes of one that is cut off.", where,
               bytes.size());
  BELFRY_CHECK(!is_cut_png(bytes), "[{}] expected a whole PNG, got {} bytes of one that is cut off.", where,
               bytes.size());
  if (options.strict) check_jpeg(where, bytes);
  cv::Mat image = with_opencv(where, [&] {
    const cv::Mat file(1, static_cast<int>(bytes.size()), CV_8U, const_cast<std::byte*>(bytes.data()));
    return cv::imdecode(file, flags_of(options));
  });
  BELFRY_CHECK(!image.empty(), "[{}] expected an image, got {} bytes that are none, or one that is damaged.", where,
               bytes.size());
  BELFRY_CHECK(image.depth() == CV_8U || image.depth() == CV_32F,
               "[{}] expected 8 bits a channel, got an image of more. Decode it with ImageChannels::rgb or grey, which "
               "makes them 8.",
               where);
  if (options.channels != ImageChannels::bgr) with_opencv(where, [&] { to_rgb(image); });
  return array_of(image);
}

Array decode_image(std::span<const std::byte> bytes, DecodeOptions options) {
  return decode_as("decode_image", bytes, options);
}

std::span<const std::byte> bytes_of(const Array& bytes, const char* where) {
  BELFRY_CHECK(bytes.dtype() == u8 && bytes.shape().rank() == 1,
               "[{}] expected the bytes of an image file, u8 [n], got {} {}.{}", where, name_of(bytes.dtype()),
               to_string(bytes.shape()),
               bytes.shape().rank() == 3 ? " It is decoded already: image_folder() and image_files() do so unless "
                                           ".decode = false is given."
                                         : "");
  return {static_cast<const std::byte*>(bytes.raw()), bytes.bytes()};
}

Array decode_image(const Array& bytes, DecodeOptions options) {
  return decode_as("decode_image", bytes_of(bytes, "decode_image"), options);
}

Array read_image_as(const char* where, const std::string& path, const DecodeOptions& options) {
  const std::string file = read_file(path);
  try {
    return decode_as(where, std::as_bytes(std::span(file)), options);
  } catch (const Error& e) {
    fail<FileError>("{} It is '{}'.", e.what(), path);
  }
}

std::string extension_of(const std::string& path) {
  std::string extension = std::filesystem::path(path).extension().string();
  std::ranges::transform(extension, extension.begin(), [](unsigned char c) { return std::tolower(c); });
  return extension;
}

Array read_image(const std::string& path, DecodeOptions options) { return read_image_as("read_image", path, options); }

}  // namespace belfry
