// What Interpolation means. Nearest and linear are ours; the others are OpenCV's, in programs that link Belfry::images.
#pragma once

#include "belfry/dataflow/image/geometry.h"
#include "belfry/dataflow/image/internal/image_view.h"

#pragma GCC visibility push(default)
namespace belfry {

// Throws "[where] ..." unless this program has it.
void check_interpolation(const char* where, Interpolation interpolation);

Array resized(ImageView& picture, const ImageSize& to, Interpolation interpolation);

// Who does the kinds that are not ours. To be called while a program is loaded, before anything resizes.
using OtherResize = Array (*)(ImageView& picture, const ImageSize& to, Interpolation interpolation);
void provide_other_resize(OtherResize resize);

}  // namespace belfry
#pragma GCC visibility pop
