#include "belfry/ops/resize.h"

#include "belfry/base/check.h"
#include "belfry/graph/graph.h"
#include "belfry/ops/internal/input_checks.h"

namespace belfry {
namespace {

// The result's shape: fixed sizes, or multiples of the image's.
Shape resized(const ShapeContext& c) {
  const Shape& x = c.input(0);
  BELFRY_CHECK(x.rank() == 4, "expected images of rank 4, got {}", to_string(x));
  const Ints &size = c.attributes().get<Ints>("size"), &scale = c.attributes().get<Ints>("scale");
  const int first = c.attributes().get<std::string>("data_format") == "NHWC" ? 1 : 2;
  BELFRY_CHECK(!(c.attributes().flag("align_corners") && c.attributes().flag("half_pixel_centers")),
               "expected at most one of .align_corners and .half_pixel_centers, got both");
  Shape out = x;
  for (int i = 0; i < 2; ++i) {
    const auto k = static_cast<std::size_t>(i);
    const std::int64_t from = x[first + i];
    BELFRY_CHECK(size[k] >= 0 && scale[k] >= 1, "expected sizes of 0 or more and scales of 1 or more, got {} and {}",
                 size[k], scale[k]);
    out.set(first + i, size[k] > 0 ? size[k] : from == kAny ? kAny : from * scale[k]);
    BELFRY_CHECK(from != 0 || out[first + i] == 0, "expected images with pixels, got {}", to_string(x));
  }
  return out;
}

// Both kinds are linear in x: the gradient is the transposed map, and its gradient the map itself.
struct Resize {
  OpRegistration forward, backward;
};
Resize define_resize(const char* name, const char* grad_name, const char* doc, const char* grad_doc) {
  const OpRegistration backward =
      define_op(grad_name)
          .input("x")
          .input("dy")
          .output("dx")
          .shape_only(0)
          .shape([](const ShapeContext& c) {
            check_float(c, 1, "dy");
            check_shape(c, 1, "dy", resized(c));
            return c.input(0);
          })
          .dtype([](const ShapeContext& c) { return std::vector{c.dtype(1)}; })
          .gradient([name](const GradientContext& c) {
            return Tensors{Tensor(), add_tensor(find_op(name), {c.grad()}, {.attributes = c.attributes()})};
          })
          .doc(grad_doc);
  const OpRegistration forward =
      define_op(name)
          .input("x")
          .output("y")
          .shape([](const ShapeContext& c) {
            check_float(c, 0, "images");
            return resized(c);
          })
          .gradient([backward](const GradientContext& c) {
            return Tensors{add_tensor(backward, {c.input(0), c.grad()}, {.attributes = c.attributes()})};
          })
          .doc(doc);
  return {forward, backward};
}

const Resize nearest = define_resize("ResizeNearest", "ResizeNearestGrad", "Images in another size, by nearest pixels.",
                                     "The gradient of ResizeNearest.");
const Resize bilinear =
    define_resize("ResizeBilinear", "ResizeBilinearGrad", "Images in another size, by weighting neighbouring pixels.",
                  "The gradient of ResizeBilinear.");

Tensor resize(const Resize& kind, const Operand& x, const ResizeOptions& o, std::string_view name) {
  return add_tensor(
      kind.forward, {x},
      {.name = name,
       .attributes = {{"size", Ints{o.size.height, o.size.width}},
                      {"scale", Ints{o.scale.height, o.scale.width}},
                      {"align_corners", o.align_corners},
                      {"half_pixel_centers", o.half_pixel_centers},
                      {"data_format", std::string(o.data_format == DataFormat::nhwc ? "NHWC" : "NCHW")}}});
}

}  // namespace

Tensor resize_nearest(const Operand& x, const ResizeOptions& options, std::string_view name) {
  return resize(nearest, x, options, name);
}
Tensor resize_bilinear(const Operand& x, const ResizeOptions& options, std::string_view name) {
  return resize(bilinear, x, options, name);
}

}  // namespace belfry
