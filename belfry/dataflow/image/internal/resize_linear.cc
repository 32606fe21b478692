// Linear interpolation: each row that is needed is brought to the new width, and two of those make a row of the result.
// Each product and each sum is rounded: the file is compiled without fused products, as OpenCV is.
#include <algorithm>
#include <array>
#include <vector>

#include "belfry/dataflow/image/internal/halve_pixels.h"
#include "belfry/dataflow/image/internal/linear_bytes.h"
#include "belfry/dataflow/image/internal/linear_floats.h"
#include "belfry/dataflow/image/internal/linear_places.h"
#include "belfry/dataflow/image/internal/resize_pixels.h"

namespace belfry {
namespace {

template <class Rows>
Array resized(const ImageView& picture, int height, int width) {
  const Rows rows(picture.width(), width);
  const int count = width * picture.channels(), last = picture.height() - 1;
  // The two rows at hand, and which they are.
  std::array<std::vector<typename Rows::Sum>, 2> made;
  for (auto& row : made) row.resize(static_cast<std::size_t>(count) + Rows::slack);
  std::array<int, 2> which{-1, -1};
  Array result(picture.dtype(), {height, width, picture.channels()});
  auto* to = static_cast<typename Rows::Value*>(result.raw());
  for (const Place& place : places(picture.height(), height)) {
    const int first = std::clamp(place.at, 0, last), second = std::clamp(place.at + 1, 0, last);
    if (which[1] == first) {  // one step down
      std::swap(made[0], made[1]);
      std::swap(which[0], which[1]);
    }
    for (int k = 0; k < 2; ++k) {
      const int row = k == 0 ? first : second;
      if (which[k] == row) continue;
      rows.across(reinterpret_cast<const typename Rows::Value*>(picture.stored_row(row)), made[k].data());
      which[k] = row;
    }
    Rows::down(made[0].data(), made[1].data(), place.after, to, count);
    to += count;
  }
  return result;
}

template <template <int> class Rows>
Array resized_of(const ImageView& picture, int height, int width) {
  switch (picture.channels()) {
    case 1: return resized<Rows<1>>(picture, height, width);
    case 2: return resized<Rows<2>>(picture, height, width);
    case 3: return resized<Rows<3>>(picture, height, width);
    default: return resized<Rows<4>>(picture, height, width);
  }
}

}  // namespace

Array resize_linear(ImageView& picture, int height, int width) {
  picture.settle();
  if (picture.height() == 2 * height && picture.width() == 2 * width) return halved(picture);
  return picture.dtype() == u8 ? resized_of<ByteRows>(picture, height, width)
                               : resized_of<FloatRows>(picture, height, width);
}

}  // namespace belfry
