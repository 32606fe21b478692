#include "belfry/dataflow/image/internal/image_view.h"

#include <limits>
#include <memory>

namespace belfry {
namespace {

constexpr int kMaxChannels = 4;  // OpenCV's limit for borders and warps

int depth_of(DType dtype) {
  switch (dtype) {
    case DType::u8: return CV_8U;
    case DType::i32: return CV_32S;
    default: return CV_32F;
  }
}

DType dtype_of_depth(int depth) {
  switch (depth) {
    case CV_8U: return u8;
    case CV_32S: return i32;
    default: break;
  }
  BELFRY_BUG_IF(depth != CV_32F, "a picture of OpenCV's depth {}", depth);
  return f32;
}

bool is_picture(const Shape& shape) {
  constexpr std::int64_t most = std::numeric_limits<int>::max();
  return shape[0] > 0 && shape[1] > 0 && shape[0] <= most && shape[1] <= most &&
         (shape.rank() < 3 || (shape[2] >= 1 && shape[2] <= kMaxChannels));
}

int type_of_image(const Array& image, const char* where) {
  const Shape& shape = image.shape();
  BELFRY_CHECK((image.dtype() == u8 || image.dtype() == f32) && shape.rank() == 3 && is_picture(shape),
               "[{}] expected an image, u8 or f32 [height, width, 1 to {} channels], got {} {}.", where, kMaxChannels,
               name_of(image.dtype()), to_string(shape));
  return CV_MAKETYPE(depth_of(image.dtype()), static_cast<int>(shape[2]));
}

cv::Mat wrap(const Array& array, int type) {
  // OpenCV has no Mat of constant memory: what is not ours is kept from changes by own_pixels().
  return cv::Mat(static_cast<int>(array.shape()[0]), static_cast<int>(array.shape()[1]), type,
                 const_cast<void*>(array.raw()));
}

}  // namespace

void prepare_opencv() {
  [[maybe_unused]] static const bool prepared = [] {
    cv::setNumThreads(1);
    // OpenCV makes its table of normal numbers at the first use, without a lock.
    cv::Mat number(1, 1, CV_32F);
    cv::RNG(1).fill(number, cv::RNG::NORMAL, 0, 1);
    return true;
  }();
}

ImageView::ImageView(Array array, int type, bool own) : array_(std::move(array)), mat_(wrap(array_, type)), own_(own) {
  prepare_opencv();
}

ImageView ImageView::of_image(Array image, const char* where) {
  const int type = type_of_image(image, where);
  return ImageView(std::move(image), type, false);
}

ImageView ImageView::of_mask(Array mask, const char* where) {
  const Shape shape = mask.shape();
  const bool right_type = mask.dtype() == u8 || mask.dtype() == f32 || mask.dtype() == i32;
  const int rank = shape.rank();
  BELFRY_CHECK(right_type && (rank == 2 || rank == 3) && is_picture(shape),
               "[{}] expected a mask, u8, i32 or f32 [height, width] or [height, width, 1 to {} channels], got {} {}.",
               where, kMaxChannels, name_of(mask.dtype()), to_string(shape));
  const int type = CV_MAKETYPE(depth_of(mask.dtype()), rank == 3 ? static_cast<int>(shape[2]) : 1);
  ImageView view(std::move(mask), type, false);
  view.no_channels_ = rank == 2;
  return view;
}

void ImageView::crop(cv::Rect part) {
  BELFRY_BUG_IF((part & cv::Rect(0, 0, width(), height())) != part || part.empty(),
                "a crop of {} x {} at ({}, {}) from {} x {}", part.height, part.width, part.x, part.y, height(),
                width());
  if (reversed_columns_) part.x = width() - part.x - part.width;
  if (reversed_rows_) part.y = height() - part.y - part.height;
  mat_ = mat_(part);
}

void ImageView::flip(bool horizontal, bool vertical) {
  reversed_columns_ = reversed_columns_ != horizontal;
  reversed_rows_ = reversed_rows_ != vertical;
}

const cv::Mat& ImageView::pixels() {
  if (reversed_columns_ || reversed_rows_) {
    cv::Mat made;
    cv::flip(mat_, made, reversed_columns_ && reversed_rows_ ? -1 : reversed_columns_ ? 1 : 0);
    replace(std::move(made));
  }
  return mat_;
}

cv::Mat& ImageView::own_pixels() {
  pixels();
  if (!own_) replace(mat_.clone());
  return mat_;
}

void ImageView::replace(cv::Mat made) {
  array_ = Array();
  mat_ = std::move(made);
  own_ = true;
  reversed_columns_ = reversed_rows_ = false;
}

void ImageView::replace(Array made) {
  const int type = type_of_image(made, "image");
  replace(wrap(made, type));
  array_ = std::move(made);
}

Array ImageView::to_array() {
  pixels();
  const auto height = mat_.rows, width = mat_.cols;
  const bool whole = mat_.data == array_.raw() && mat_.total() * mat_.elemSize() == array_.bytes();
  const Array dense = whole ? array_ : array_of(mat_);
  return dense.reshaped(no_channels_ ? Shape{height, width} : Shape{height, width, mat_.channels()});
}

cv::Mat mat_of(const Array& image, const char* where) {
  prepare_opencv();
  return wrap(image, type_of_image(image, where));
}

Array array_of(const cv::Mat& mat) {
  const Shape shape{mat.rows, mat.cols, mat.channels()};
  const DType dtype = dtype_of_depth(mat.depth());
  const bool whole = mat.u != nullptr && mat.isContinuous() && mat.u->size == mat.total() * mat.elemSize();
  if (whole) return Array(dtype, shape, mat.data, std::make_shared<cv::Mat>(mat));
  Array copy(dtype, shape);
  mat.copyTo(wrap(copy, mat.type()));
  return copy;
}

}  // namespace belfry
