#include "belfry/dataflow/image/sheet.h"

#include <algorithm>
#include <opencv2/imgproc.hpp>

#include "belfry/dataflow/image/internal/image_view.h"

namespace belfry {
namespace {

constexpr int kFont = cv::FONT_HERSHEY_PLAIN;
constexpr double kFontScale = 0.8;
constexpr int kTextHeight = 13;

// RGB on white.
cv::Mat to_rgb(const cv::Mat& image) {
  cv::Mat bytes;
  image.convertTo(bytes, CV_8U, image.depth() == CV_32F ? 255 : 1);
  cv::Mat rgb;
  switch (bytes.channels()) {
    case 1: cv::cvtColor(bytes, rgb, cv::COLOR_GRAY2RGB); return rgb;
    case 3: return bytes;
    case 4: break;
    default: fail("[image_sheet] expected images of 1, 3 or 4 channels, got {}.", bytes.channels());
  }
  rgb.create(bytes.size(), CV_8UC3);
  for (int y = 0; y < bytes.rows; ++y)
    for (int x = 0; x < bytes.cols; ++x) {
      const auto& from = bytes.at<cv::Vec4b>(y, x);
      for (int c = 0; c < 3; ++c)
        rgb.at<cv::Vec3b>(y, x)[c] = cv::saturate_cast<std::uint8_t>((from[c] * from[3] + 255 * (255 - from[3])) / 255);
    }
  return rgb;
}

}  // namespace

Array image_sheet(const std::vector<Array>& images, const ImageSheetOptions& options) {
  BELFRY_CHECK(!images.empty(), "[image_sheet] expected at least one image, got none.");
  BELFRY_CHECK(options.columns > 0 && options.gap >= 0,
               "[image_sheet] expected 1 or more columns and a gap of 0 or more, got {} and {}.", options.columns,
               options.gap);
  BELFRY_CHECK(options.labels.empty() || options.labels.size() == images.size(),
               "[image_sheet] expected a label for each of {} images, or none, got {}.", images.size(),
               options.labels.size());
  return with_opencv("image_sheet", [&] {
    cv::Size cell(1, 1);
    for (const Array& image : images) {
      const cv::Size size = mat_of(image, "image_sheet").size();
      cell = {std::max(cell.width, size.width), std::max(cell.height, size.height)};
    }
    const int gap = options.gap, text = options.labels.empty() ? 0 : kTextHeight;
    const int count = static_cast<int>(images.size()), columns = std::min(options.columns, count);
    const int rows = (count + columns - 1) / columns;
    const cv::Size step(cell.width + gap, cell.height + text + gap);
    cv::Mat sheet(rows * step.height + gap, columns * step.width + gap, CV_8UC3, cv::Scalar::all(255));
    for (int i = 0; i < count; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const cv::Point corner(gap + i % columns * step.width, gap + i / columns * step.height);
      const cv::Mat image = to_rgb(mat_of(images[at], "image_sheet"));
      image.copyTo(sheet(cv::Rect(corner, image.size())));
      if (text == 0) continue;
      cv::Mat line = sheet(cv::Rect(corner.x, corner.y + cell.height, cell.width, text));  // longer text is cut off
      cv::putText(line, options.labels[at], {0, text - 3}, kFont, kFontScale, cv::Scalar::all(0));
    }
    return array_of(sheet);
  });
}

}  // namespace belfry
