#include "belfry/base/check.h"
#include "belfry/dataflow/image/geometry.h"
#include "belfry/dataflow/image/internal/border.h"
#include "belfry/dataflow/image/internal/geometry_steps.h"

namespace belfry {
namespace {

constexpr int kMaxPadding = 1 << 20;

void check_side(const char* side, int pixels) {
  BELFRY_CHECK(pixels >= 0 && pixels <= kMaxPadding, "[pad] expected 0 to 2^20 pixels for {}, got {}.{}", side, pixels,
               pixels < 0 ? " A crop makes images smaller." : "");
}

}  // namespace

Augmentor pad(PadOptions options) {
  check_side("top", options.top);
  check_side("bottom", options.bottom);
  check_side("left", options.left);
  check_side("right", options.right);
  check_border("pad", options.border);
  return make_augmentor([=](Sampling& sampling, RandomStream&) {
    const int width = sampling.width() + options.left + options.right;
    const int height = sampling.height() + options.top + options.bottom;
    if (width == sampling.width() && height == sampling.height()) return;
    sampling.add(PaddedCropStep({-options.left, -options.top, width, height}, options.border));
    sampling.set_size(height, width);
  });
}

Augmentor pad(int sides, Border border) {
  return pad({.top = sides, .bottom = sides, .left = sides, .right = sides, .border = border});
}

}  // namespace belfry
