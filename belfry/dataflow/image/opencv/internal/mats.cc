#include "belfry/dataflow/image/opencv/internal/mats.h"

#include <memory>

namespace belfry {
namespace {

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

cv::Mat wrap(const ImageView& picture) {
  // OpenCV has no Mat of constant memory: what is not ours is kept from changes by own_pixels_of().
  return cv::Mat(picture.height(), picture.width(), CV_MAKETYPE(depth_of(picture.dtype()), picture.channels()),
                 const_cast<std::byte*>(picture.stored_row(0)), picture.step());
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

cv::Mat mat_of(const Array& image, const char* where) {
  prepare_opencv();
  return wrap(ImageView::of_image(image, where));
}

Array array_of(const cv::Mat& mat) {
  const Shape shape{mat.rows, mat.cols, mat.channels()};
  const DType dtype = dtype_of_depth(mat.depth());
  const bool whole = mat.u != nullptr && mat.isContinuous() && mat.u->size == mat.total() * mat.elemSize();
  if (whole) return Array(dtype, shape, mat.data, std::make_shared<cv::Mat>(mat));
  Array copy(dtype, shape);
  cv::Mat to(mat.rows, mat.cols, mat.type(), copy.raw());
  mat.copyTo(to);
  return copy;
}

cv::Mat pixels_of(ImageView& picture) {
  picture.settle();
  return wrap(picture);
}

cv::Mat own_pixels_of(ImageView& picture) {
  picture.own();
  return wrap(picture);
}

}  // namespace belfry
