#include "belfry/ops/conv.h"

#include "belfry/graph/graph.h"
#include "belfry/ops/internal/conv_geometry.h"
#include "belfry/ops/internal/input_checks.h"

namespace belfry {
namespace {

// The three ops are the partial derivatives of one trilinear form sum(y * conv(x, filter)), so each one's gradients are
// the other two with the same attributes.
Tensor conv(const Tensor& x, const Tensor& filter, const Attributes& attributes);
Tensor backprop_input(const Tensor& x, const Tensor& filter, const Tensor& dy, const Attributes& attributes);
Tensor backprop_filter(const Tensor& x, const Tensor& filter, const Tensor& dy, const Attributes& attributes);

ConvGeometry backward_geometry(const ShapeContext& c) {
  check_one_float_type(c);
  const ConvGeometry g = conv_geometry(c.input(0), c.input(1), c.attributes());
  check_shape(c, 2, "dy", g.output_shape());
  return g;
}

const OpRegistration conv_def =
    define_op("Conv2D")
        .input("x")
        .input("filter")
        .output("y")
        .shape([](const ShapeContext& c) {
          check_one_float_type(c);
          return conv_geometry(c.input(0), c.input(1), c.attributes()).output_shape();
        })
        .gradient([](const GradientContext& c) {
          const Tensor x = c.input(0), filter = c.input(1), dy = c.grad();
          return Tensors{backprop_input(x, filter, dy, c.attributes()), backprop_filter(x, filter, dy, c.attributes())};
        })
        .doc("Two-dimensional convolution of images with a filter [height, width, in / groups, out].");

const OpRegistration backprop_input_def =
    define_op("Conv2DBackpropInput")
        .input("x")
        .input("filter")
        .input("dy")
        .output("dx")
        .shape_only(0)
        .shape([](const ShapeContext& c) { return merge(c.input(0), backward_geometry(c).input_shape()); })
        .gradient([](const GradientContext& c) {
          const Tensor ddx = c.grad(), filter = c.input(1), dy = c.input(2);
          return Tensors{Tensor(), backprop_filter(ddx, filter, dy, c.attributes()), conv(ddx, filter, c.attributes())};
        })
        .doc("The gradient of Conv2D with respect to its images.");

const OpRegistration backprop_filter_def =
    define_op("Conv2DBackpropFilter")
        .input("x")
        .input("filter")
        .input("dy")
        .output("dfilter")
        .shape_only(1)
        .shape([](const ShapeContext& c) { return merge(c.input(1), backward_geometry(c).filter_shape()); })
        .gradient([](const GradientContext& c) {
          const Tensor x = c.input(0), ddfilter = c.grad(), dy = c.input(2);
          return Tensors{backprop_input(x, ddfilter, dy, c.attributes()), Tensor(), conv(x, ddfilter, c.attributes())};
        })
        .doc("The gradient of Conv2D with respect to its filter.");

Tensor conv(const Tensor& x, const Tensor& filter, const Attributes& attributes) {
  return add_tensor(conv_def, {x, filter}, {.attributes = attributes});
}
Tensor backprop_input(const Tensor& x, const Tensor& filter, const Tensor& dy, const Attributes& attributes) {
  return add_tensor(backprop_input_def, {x, filter, dy}, {.attributes = attributes});
}
Tensor backprop_filter(const Tensor& x, const Tensor& filter, const Tensor& dy, const Attributes& attributes) {
  return add_tensor(backprop_filter_def, {x, filter, dy}, {.attributes = attributes});
}

}  // namespace

Tensor conv2d(const Operand& x, const Operand& filter, const Conv2dOptions& options, std::string_view name) {
  Attributes attributes{{"dilations", to_ints(options.dilations)}, {"groups", options.groups}};
  set_window_attributes(attributes, options.strides, options.padding, options.data_format);
  return add_tensor(conv_def, {x, filter}, {.name = name, .attributes = std::move(attributes)});
}

}  // namespace belfry
