// The kinds of resize() that OpenCV does: they are there once this library is loaded.
#include <opencv2/imgproc.hpp>

#include "belfry/dataflow/image/internal/interpolations.h"
#include "belfry/dataflow/image/opencv/internal/mats.h"
#include "belfry/dataflow/image/opencv/internal/opencv_options.h"

namespace belfry {
namespace {

Array resize_by_opencv(ImageView& picture, const ImageSize& to, Interpolation interpolation) {
  return with_opencv("augment", [&] {
    cv::Mat made;
    cv::resize(pixels_of(picture), made, {to.width, to.height}, 0, 0, interpolation_flag(interpolation));
    return array_of(made);
  });
}

[[maybe_unused]] const bool provided = [] {
  provide_other_resize(resize_by_opencv);
  return true;
}();

}  // namespace
}  // namespace belfry
