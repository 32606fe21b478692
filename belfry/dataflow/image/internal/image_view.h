// Where arrays meet OpenCV: ImageView, the picture that goes from step to step of an augmentation.
//
// It wraps an array's memory instead of copying it; a crop only moves its corner, and a mirror image is only noted,
// until a step needs the pixels in place. So crop, flip and normalize are one pass over the pixels.
#pragma once

#include <opencv2/core.hpp>

#include "belfry/array/array.h"
#include "belfry/base/check.h"
#include "belfry/base/error.h"

namespace belfry {

class ImageView {
 public:
  // Throws "[where] ..." unless the array is an image: [height, width, 1 to 4 channels], u8 or f32, with pixels.
  static ImageView of_image(Array image, const char* where);
  // A mask may be i32, too, and have no axis of channels.
  static ImageView of_mask(Array mask, const char* where);
  explicit ImageView(cv::Mat made) : mat_(std::move(made)), own_(true) {}  // nobody else sees its memory

  int height() const { return mat_.rows; }
  int width() const { return mat_.cols; }
  int channels() const { return mat_.channels(); }
  int depth() const { return mat_.depth(); }  // CV_8U, ...

  void crop(cv::Rect part);  // must lie inside
  void flip(bool horizontal, bool vertical);

  // The pixels in place, to be read; or to be changed, too: a copy if somebody else can see them.
  const cv::Mat& pixels();
  cv::Mat& own_pixels();
  // The pixels as they lie in memory, and whether columns and rows are meant in reverse.
  const cv::Mat& stored() const { return mat_; }
  bool reversed_columns() const { return reversed_columns_; }
  bool reversed_rows() const { return reversed_rows_; }

  // What a step made takes the place of the picture.
  void replace(cv::Mat made);
  void replace(Array made);  // an image that nobody else sees

  // The picture as an array, without a copy where its memory is dense.
  Array to_array();

 private:
  ImageView(Array array, int type, bool own);

  Array array_;  // what mat_ points into, unless OpenCV allocated that
  cv::Mat mat_;
  bool own_ = false;
  bool reversed_columns_ = false, reversed_rows_ = false;
  bool no_channels_ = false;  // a mask of rank 2
};

// An image's memory as a Mat, without a copy. The array must outlive it.
cv::Mat mat_of(const Array& image, const char* where);
// An array that shares the Mat's memory if that is dense and OpenCV's, else a copy.
Array array_of(const cv::Mat& mat);

// Switches OpenCV's own threads off, once: flows bring theirs, and the two would fight for the cores. Called by all
// that wraps or decodes an image.
void prepare_opencv();

// function(), with OpenCV's exceptions as ours.
template <class ErrorType = Error, class Function>
auto with_opencv(const char* where, Function&& function) {
  prepare_opencv();
  try {
    return function();
  } catch (const cv::Exception& e) {
    fail<ErrorType>("[{}] OpenCV failed: {}", where, e.err);
  }
}

}  // namespace belfry
