// Where arrays meet OpenCV.
#pragma once

#include <opencv2/core.hpp>

#include "belfry/array/array.h"
#include "belfry/base/check.h"
#include "belfry/base/error.h"
#include "belfry/dataflow/image/internal/image_view.h"

namespace belfry {

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

// For steps of an augmentation. The pixels in place, to be read; or to be changed, too.
cv::Mat pixels_of(ImageView& picture);
cv::Mat own_pixels_of(ImageView& picture);

// change(cv::Mat&): the pixels become others, of the same type and size.
template <class Change>
void change_pixels(ImageView& picture, Change&& change) {
  with_opencv("augment", [&] {
    cv::Mat pixels = own_pixels_of(picture);
    const auto* memory = pixels.data;
    change(pixels);
    if (pixels.data != memory) picture.replace(array_of(pixels));  // OpenCV took new memory for them
  });
}

// make(const cv::Mat&, cv::Mat& made): a new picture takes the place of this one.
template <class Make>
void remake_pixels(ImageView& picture, Make&& make) {
  with_opencv("augment", [&] {
    cv::Mat made;
    make(pixels_of(picture), made);
    picture.replace(array_of(made));
  });
}

}  // namespace belfry
