#include "belfry/dataflow/image/internal/image_view.h"

#include <cstring>
#include <limits>

#include "belfry/base/check.h"
#include "belfry/dataflow/image/internal/reverse_row.h"

namespace belfry {
namespace {

constexpr int kMaxChannels = 4;  // OpenCV's limit for borders and warps

bool is_picture(const Shape& shape) {
  constexpr std::int64_t most = std::numeric_limits<int>::max();
  return shape[0] > 0 && shape[1] > 0 && shape[0] <= most && shape[1] <= most &&
         (shape.rank() < 3 || (shape[2] >= 1 && shape[2] <= kMaxChannels));
}

}  // namespace

void check_image(const Array& image, const char* where) {
  const Shape& shape = image.shape();
  BELFRY_CHECK((image.dtype() == u8 || image.dtype() == f32) && shape.rank() == 3 && is_picture(shape),
               "[{}] expected an image, u8 or f32 [height, width, 1 to {} channels], got {} {}.", where, kMaxChannels,
               name_of(image.dtype()), to_string(shape));
}

ImageView::ImageView(Array array) : array_(std::move(array)) {
  const Shape& shape = array_.shape();
  no_channels_ = shape.rank() == 2;
  height_ = static_cast<int>(shape[0]);
  width_ = static_cast<int>(shape[1]);
  channels_ = no_channels_ ? 1 : static_cast<int>(shape[2]);
  pixel_bytes_ = size_of(array_.dtype()) * static_cast<std::size_t>(channels_);
  step_ = row_bytes();
  data_ = static_cast<std::byte*>(array_.raw());
}

ImageView ImageView::of_image(Array image, const char* where) {
  check_image(image, where);
  return ImageView(std::move(image));
}

ImageView ImageView::of_mask(Array mask, const char* where) {
  const Shape& shape = mask.shape();
  const bool right_type = mask.dtype() == u8 || mask.dtype() == f32 || mask.dtype() == i32;
  BELFRY_CHECK(right_type && (shape.rank() == 2 || shape.rank() == 3) && is_picture(shape),
               "[{}] expected a mask, u8, i32 or f32 [height, width] or [height, width, 1 to {} channels], got {} {}.",
               where, kMaxChannels, name_of(mask.dtype()), to_string(shape));
  return ImageView(std::move(mask));
}

void ImageView::crop(const ImagePart& part) {
  BELFRY_BUG_IF(part.x < 0 || part.y < 0 || part.width <= 0 || part.height <= 0 || part.width > width_ - part.x ||
                    part.height > height_ - part.y,
                "a crop of {} x {} at ({}, {}) from {} x {}", part.height, part.width, part.x, part.y, height_, width_);
  const int x = reversed_columns_ ? width_ - part.x - part.width : part.x;
  const int y = reversed_rows_ ? height_ - part.y - part.height : part.y;
  data_ += step_ * static_cast<std::size_t>(y) + pixel_bytes_ * static_cast<std::size_t>(x);
  width_ = part.width;
  height_ = part.height;
}

void ImageView::flip(bool horizontal, bool vertical) {
  reversed_columns_ = reversed_columns_ != horizontal;
  reversed_rows_ = reversed_rows_ != vertical;
}

void ImageView::settle() {
  if (!reversed_columns_ && !reversed_rows_) return;
  replace(to_array());
}

std::byte* ImageView::own() {
  settle();
  if (!own_) {
    Array copy = to_array();
    replace(copy.raw() == array_.raw() ? copy.clone() : std::move(copy));
  }
  return data_;
}

void ImageView::replace(Array made) {
  const bool no_channels = no_channels_;
  *this = ImageView(std::move(made));
  no_channels_ = no_channels;
  own_ = true;
}

Array ImageView::to_array() const {
  const Shape shape = no_channels_ ? Shape{height_, width_} : Shape{height_, width_, channels_};
  const bool dense = data_ == array_.raw() && row_bytes() * static_cast<std::size_t>(height_) == array_.bytes();
  if (dense && !reversed_columns_ && !reversed_rows_) return array_.reshaped(shape);
  Array made(dtype(), shape);
  auto* to = static_cast<std::byte*>(made.raw());
  for (int y = 0; y < height_; ++y, to += row_bytes()) {
    const std::byte* from = stored_row(reversed_rows_ ? height_ - 1 - y : y);
    if (reversed_columns_)
      reverse_row(from, to, width_, pixel_bytes_);
    else
      std::memcpy(to, from, row_bytes());
  }
  return made;
}

}  // namespace belfry
