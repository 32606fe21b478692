#include "belfry/ops/conv_transpose.h"

#include "belfry/graph/graph.h"
#include "belfry/ops/internal/conv_geometry.h"
#include "belfry/ops/internal/input_checks.h"

namespace belfry {
namespace {

// y is the images of a convolution that gives x. As in conv.cc, the derivatives of the trilinear form
// sum(x * conv(y, filter)) are each other's gradients.
const OpRegistration conv_transpose_def =
    define_op("Conv2DTranspose")
        .input("x")
        .input("filter")
        .output("y")
        .shape([](const ShapeContext& c) {
          check_one_float_type(c);
          return transpose_geometry(c.input(0), c.input(1), c.attributes()).input_shape();
        })
        .gradient([](const GradientContext& c) {
          const Tensor x = c.input(0), filter = c.input(1), dy = c.grad();
          return Tensors{add_tensor(find_op("Conv2D"), {dy, filter}, {.attributes = c.attributes()}),
                         add_tensor(find_op("Conv2DBackpropFilter"), {dy, filter, x}, {.attributes = c.attributes()})};
        })
        .doc("Transposed convolution of images with a filter [height, width, out / groups, in].");

}  // namespace

Tensor conv2d_transpose(const Operand& x, const Operand& filter, const Conv2dTransposeOptions& options,
                        std::string_view name) {
  Attributes attributes{{"dilations", to_ints(options.dilations)}, {"groups", options.groups}};
  set_window_attributes(attributes, options.strides, options.padding, options.data_format);
  if (options.output_size) attributes.set("output_size", to_ints(*options.output_size));
  return add_tensor(conv_transpose_def, {x, filter}, {.name = name, .attributes = std::move(attributes)});
}

}  // namespace belfry
