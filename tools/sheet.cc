#include "tools/sheet.h"

#include <algorithm>

#include "belfry/base/check.h"
#include "belfry/dataflow/image_sheet.h"
#include "belfry/dataflow/png.h"
#include "belfry/dataflow/print_points.h"

namespace belfry::tools {
namespace {

bool is_image(const Shape& shape) {
  const bool channels = shape.rank() == 3 && (shape[2] == 1 || shape[2] == 3 || shape[2] == 4);
  return (shape.rank() == 2 || channels) && shape[0] >= 4 && shape[1] >= 4;
}

// A point's image: the component, and whether it is a batch of them. (A batch of grey images [n, h, w] with n < 4 would
// be taken for one image; the shape does not tell.)
struct Place {
  std::size_t component = 0;
  bool batch = false;
};
std::optional<Place> find_image(const DataPoint& point) {
  for (std::size_t k = 0; k < point.size(); ++k) {
    const Shape& shape = point[k].shape();
    if (is_image(shape)) return Place{k, false};
    if (shape.rank() >= 3 && is_image(shape.slice(1, shape.rank()))) return Place{k, true};
  }
  return std::nullopt;
}

// u8 unchanged, else f32 in [0, 1] and with a third axis.
Array shown(const Array& image) {
  Shape shape = image.shape();
  if (shape.rank() == 2) shape.push_back(1);
  if (image.dtype() == u8) return image.reshaped(shape);
  Array out = image.cast(f32).clone().reshaped(shape);
  const auto values = out.values<float>();
  const auto [low, high] = std::ranges::minmax(values);
  if (low >= 0 && high <= 1) return out;
  for (float& v : values) v = (v - low) / std::max(high - low, 1e-12f);
  return out;
}

std::string label_of(const DataPoint& point, std::size_t component, std::optional<std::int64_t> index) {
  for (std::size_t k = component + 1; k < point.size(); ++k) {
    const Shape& shape = point[k].shape();
    if (!index && shape.rank() == 0) return fmt::format("{}", point[k].item());
    if (index && shape.rank() == 1) return fmt::format("{}", point[k].item(*index));
  }
  return "";
}

}  // namespace

void check_sheet(const std::string& path) {
  BELFRY_CHECK(path.ends_with(".png") || path.ends_with(".PNG"), "[sheet] expected a name that ends in .png, got '{}'.",
               path);
}

int write_sheet(const std::string& path, Flow flow, int most) {
  std::vector<Array> images;
  std::vector<std::string> labels;
  const auto full = [&] { return static_cast<int>(images.size()) >= most; };
  flow.start_epoch(0);
  while (!full()) {
    const std::optional<DataPoint> point = flow.next();
    if (!point) break;
    const std::optional<Place> place = find_image(*point);
    BELFRY_CHECK(place, "[sheet] expected points with an image, [h, w] or [h, w, channels], got {}. Decode it first.",
                 describe_point(*point));
    const Array& component = (*point)[place->component];
    const std::vector<Array> found = place->batch ? rows_of(component) : std::vector{component};
    for (std::size_t i = 0; i < found.size() && !full(); ++i) {
      images.push_back(shown(found[i]));
      labels.push_back(label_of(*point, place->component,
                                place->batch ? std::optional(static_cast<std::int64_t>(i)) : std::nullopt));
    }
  }
  write_png(path, image_sheet(images, {.labels = labels}));
  return static_cast<int>(images.size());
}

}  // namespace belfry::tools
