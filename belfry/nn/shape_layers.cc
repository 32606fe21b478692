#include "belfry/nn/shape_layers.h"

#include "belfry/base/check.h"
#include "belfry/nn/internal/layer_checks.h"
#include "belfry/ops/array_ops.h"
#include "belfry/ops/pointwise.h"
#include "belfry/ops/reduce.h"
#include "belfry/ops/strided_slice.h"

namespace belfry {
namespace {

Tensor apply(const UpsampleOptions& o, const Tensor& x) {
  check_rank("upsample", x, 4, "images");
  BELFRY_CHECK(o.scale.height >= 1 && o.scale.width >= 1,
               "{} expected a .scale of 1 or more in both directions, got {} x {} {}", layer_title("upsample"),
               o.scale.height, o.scale.width, layer_line());
  const bool linear = o.method == Upsampling::bilinear;
  const ResizeOptions resize{.scale = o.scale,
                             .align_corners = linear && o.align_corners,
                             .half_pixel_centers = linear && o.half_pixel_centers && !o.align_corners,
                             .data_format = o.data_format};
  return linear ? resize_bilinear(x, resize, "output") : resize_nearest(x, resize, "output");
}

// The maximum of slices: the first of every `units` channels, the second, and so on.
Tensor apply(const MaxoutOptions& o, const Tensor& x) {
  BELFRY_CHECK(x.rank() >= 2, "{} expected a batch of rank 2 or more, got '{}' {} {}", layer_title("maxout"), x.name(),
               to_string(x.shape()), layer_line());
  const int axis = channel_axis(o.data_format, x.rank());
  const std::int64_t channels = known_size("maxout", x, axis, "channels");
  BELFRY_CHECK(o.units >= 1 && channels % o.units == 0, "{} expected .units that divide the {} channels, got {} {}",
               layer_title("maxout"), channels, o.units, layer_line());
  Tensor y;
  for (std::int64_t unit = 0; unit < o.units; ++unit) {
    std::vector<SliceRange> ranges(static_cast<std::size_t>(axis) + 1);
    ranges.back() = {.begin = unit, .step = o.units};
    const Tensor part = strided_slice(x, ranges);
    y = unit == 0 ? part : maximum(y, part, unit + 1 == o.units ? "output" : "");
  }
  return y;
}

}  // namespace

Layer upsample(std::string_view name, const UpsampleOptions& options, const Location& where) {
  return Layer(name, [options](const Tensor& x) { return apply(options, x); }, where);
}

Layer concat_with(std::string_view name, const std::vector<Tensor>& others, int axis, const Location& where) {
  return Layer(
      name,
      [others, axis](const Tensor& x) {
        std::vector<Tensor> all{x};
        all.insert(all.end(), others.begin(), others.end());
        return concat(all, axis, "output");
      },
      where);
}
Layer concat_with(std::string_view name, const Tensor& other, int axis, const Location& where) {
  return concat_with(name, std::vector<Tensor>{other}, axis, where);
}

Layer maxout(std::string_view name, const MaxoutOptions& options, const Location& where) {
  return Layer(name, [options](const Tensor& x) { return apply(options, x); }, where);
}

Layer global_max_pool(std::string_view name, DataFormat data_format, const Location& where) {
  return Layer(
      name,
      [data_format](const Tensor& x) {
        check_rank("global_max_pool", x, 4, "images");
        const int first = data_format == DataFormat::nhwc ? 1 : 2;
        return reduce_max(x, {.axes = {first, first + 1}}, "output");
      },
      where);
}

}  // namespace belfry
