#include "belfry/dataflow/internal/byte_image.h"

#include <algorithm>

#include "belfry/base/check.h"

namespace belfry {

void check_picture(const char* where, const Array& image) {
  const Shape& shape = image.shape();
  const bool right_type = image.dtype() == u8 || image.dtype() == f32;
  const bool right_shape = shape.rank() == 3 && shape[0] > 0 && shape[1] > 0 &&  //
                           (shape[2] == 1 || shape[2] == 3 || shape[2] == 4);
  BELFRY_CHECK(right_type && right_shape,
               "[{}] expected an image, u8 or f32 [height, width, 1, 3 or 4 channels], got {} {}.{}", where,
               name_of(image.dtype()), to_string(shape),
               shape.rank() == 4 ? " The images of a batch are rows_of(batch)." : "");
}

Array to_bytes(const Array& image) {
  if (image.dtype() == u8) return image;
  Array out(u8, image.shape());
  std::ranges::transform(image.values<float>(), out.values<std::uint8_t>().begin(), [](float v) {
    if (!(v > 0)) return std::uint8_t{0};  // NaN, too
    return static_cast<std::uint8_t>(v < 1 ? v * 255.f + 0.5f : 255.f);
  });
  return out;
}

}  // namespace belfry
