#pragma once

#include "belfry/dataflow/image/geometry.h"
#include "belfry/dataflow/image/internal/image_view.h"

#pragma GCC visibility push(default)
namespace belfry {

// Throws unless it is one of the modes.
void check_border(const char* where, const Border& border);

// A part of the picture that may reach over its edges, by any amount. `value` is that of BorderMode::constant.
Array padded_part(ImageView& picture, const ImagePart& part, BorderMode mode, double value);

}  // namespace belfry
#pragma GCC visibility pop
