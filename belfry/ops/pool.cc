#include "belfry/ops/pool.h"

#include "belfry/base/check.h"
#include "belfry/graph/graph.h"
#include "belfry/ops/internal/conv_geometry.h"
#include "belfry/ops/internal/input_checks.h"
#include "belfry/ops/reduce.h"

namespace belfry {
namespace {

Tensor avg_pool(const Tensor& x, const Attributes& attributes);
Tensor avg_pool_grad(const Tensor& x, const Tensor& dy, const Attributes& attributes);
Tensor max_pool_grad(const Tensor& x, const Tensor& y, const Tensor& dy, const Attributes& attributes);
Tensor max_pool_grad_grad(const Tensor& x, const Tensor& y, const Tensor& ddx, const Attributes& attributes);

Shapes pooled(const ShapeContext& c) {
  check_one_float_type(c);
  return pool_geometry(c.input(0), c.attributes()).output_shape();
}

// What is known of an input that has the pooled shape.
Shape merge_pooled(const ShapeContext& c, int input, const char* what) {
  const Shape y = pooled(c).front();
  check_shape(c, input, what, y);
  return merge(y, c.input(input));
}

const OpRegistration max_pool_def =
    define_op("MaxPool")
        .input("x")
        .output("y")
        .shape(pooled)
        .gradient([](const GradientContext& c) {
          return Tensors{max_pool_grad(c.input(0), c.output(), c.grad(), c.attributes())};
        })
        .doc("The largest value in each window.");

// dx = dy at the place of each window's first maximum. That place does not change with x almost everywhere, so there is
// no gradient to x and y, and the one to dy picks the values at the same places.
const OpRegistration max_pool_grad_def =
    define_op("MaxPoolGrad")
        .input("x")
        .input("y")
        .input("dy")
        .output("dx")
        .shape([](const ShapeContext& c) {
          merge_pooled(c, 1, "y");
          merge_pooled(c, 2, "dy");
          return c.input(0);
        })
        .gradient([](const GradientContext& c) {
          return Tensors{Tensor(), Tensor(), max_pool_grad_grad(c.input(0), c.input(1), c.grad(), c.attributes())};
        })
        .doc("The gradient of MaxPool: dy goes to the first maximum of each window.");

const OpRegistration max_pool_grad_grad_def =
    define_op("MaxPoolGradGrad")
        .input("x")
        .input("y")
        .input("ddx")
        .output("ddy")
        .shape([](const ShapeContext& c) {
          check_shape(c, 2, "ddx", c.input(0));
          return merge_pooled(c, 1, "y");
        })
        .gradient([](const GradientContext& c) {
          return Tensors{Tensor(), Tensor(), max_pool_grad(c.input(0), c.input(1), c.grad(), c.attributes())};
        })
        .doc("The values of ddx at the first maximum of each window of x.");

const OpRegistration avg_pool_def =
    define_op("AvgPool")
        .input("x")
        .output("y")
        .shape(pooled)
        .gradient([](const GradientContext& c) { return Tensors{avg_pool_grad(c.input(0), c.grad(), c.attributes())}; })
        .doc("The mean of each window's pixels, padding not counted.");

const OpRegistration avg_pool_grad_def =
    define_op("AvgPoolGrad")
        .input("x")
        .input("dy")
        .output("dx")
        .shape_only(0)
        .shape([](const ShapeContext& c) {
          merge_pooled(c, 1, "dy");
          return c.input(0);
        })
        .gradient([](const GradientContext& c) { return Tensors{Tensor(), avg_pool(c.grad(), c.attributes())}; })
        .doc("The gradient of AvgPool: dy is spread evenly over each window's pixels.");

Tensor avg_pool(const Tensor& x, const Attributes& attributes) {
  return add_tensor(avg_pool_def, {x}, {.attributes = attributes});
}
Tensor avg_pool_grad(const Tensor& x, const Tensor& dy, const Attributes& attributes) {
  return add_tensor(avg_pool_grad_def, {x, dy}, {.attributes = attributes});
}
Tensor max_pool_grad(const Tensor& x, const Tensor& y, const Tensor& dy, const Attributes& attributes) {
  return add_tensor(max_pool_grad_def, {x, y, dy}, {.attributes = attributes});
}
Tensor max_pool_grad_grad(const Tensor& x, const Tensor& y, const Tensor& ddx, const Attributes& attributes) {
  return add_tensor(max_pool_grad_grad_def, {x, y, ddx}, {.attributes = attributes});
}

Tensor pool(OpRegistration op, const Operand& x, const Pool2dOptions& options, std::string_view name) {
  Attributes attributes{{"window", to_ints(options.window)}};
  const Extent strides = options.strides == Extent(0) ? options.window : options.strides;
  set_window_attributes(attributes, strides, options.padding, options.data_format);
  return add_tensor(op, {x}, {.name = name, .attributes = std::move(attributes)});
}

}  // namespace

Tensor max_pool2d(const Operand& x, const Pool2dOptions& options, std::string_view name) {
  return pool(max_pool_def, x, options, name);
}
Tensor avg_pool2d(const Operand& x, const Pool2dOptions& options, std::string_view name) {
  return pool(avg_pool_def, x, options, name);
}
Tensor global_avg_pool(const Operand& x, DataFormat data_format, std::string_view name) {
  BELFRY_CHECK(x.tensor().rank() == 4, "[global_avg_pool '{}'] expected an input of rank 4, got '{}' {}", name,
               x.tensor().name(), to_string(x.tensor().shape()));
  return reduce_mean(x, {.axes = data_format == DataFormat::nhwc ? Ints{1, 2} : Ints{2, 3}}, name);
}

}  // namespace belfry
