#pragma once

#include "belfry/dataflow/image/geometry.h"
#include "belfry/dataflow/image/internal/image_view.h"

namespace belfry {

Array resize_by_opencv(ImageView& picture, const ImageSize& to, Interpolation interpolation);

}  // namespace belfry
