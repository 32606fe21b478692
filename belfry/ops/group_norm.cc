#include "belfry/ops/group_norm.h"

#include "belfry/base/check.h"
#include "belfry/graph/gradients.h"
#include "belfry/graph/graph.h"
#include "belfry/ops/array_ops.h"
#include "belfry/ops/basic.h"
#include "belfry/ops/internal/input_checks.h"
#include "belfry/ops/pointwise.h"
#include "belfry/ops/reduce.h"

namespace belfry {
namespace {

int axis_of(const Attributes& attributes) { return static_cast<int>(attributes.integer("axis")); }

// What is known of [batch, groups] for the x that is input `at`.
Shape group_shape(const ShapeContext& c, int at) {
  const Shape& x = c.input(at);
  check_one_float_type(c);
  const int axis = axis_of(c.attributes());
  const std::int64_t channels = x[axis], groups = c.attributes().integer("groups");  // 0: one per channel
  BELFRY_CHECK(groups >= 0 && (channels == kAny || groups == 0 || channels % groups == 0),
               "expected groups that divide the {} channels of {}, got {}", channels, to_string(x), groups);
  const double epsilon = c.attributes().get<double>("epsilon");
  BELFRY_CHECK(epsilon >= 0, "expected epsilon of 0 or more, got {}", epsilon);
  return {x[0], groups == 0 ? channels : groups};
}

// A vector of one number per channel in a shape that broadcasts against x.
Tensor spread(const Tensor& vector, const Tensor& x, int axis) {
  Ints behind;
  for (int i = axis + 1; i < x.rank(); ++i) behind.push_back(i - axis);
  return behind.empty() ? vector : expand_dims(vector, behind);
}

// Linear, and its own transpose.
Tensor group_mean(const Tensor& x, const Attributes& attributes);
const OpRegistration group_mean_def =
    define_op("GroupMean")
        .input("x")
        .output("y")
        .shape([](const ShapeContext& c) {
          group_shape(c, 0);
          return c.input(0);
        })
        .gradient([](const GradientContext& c) { return Tensors{group_mean(c.grad(), c.attributes())}; })
        .doc("Each element replaced by the mean of its group of channels in its example.");
Tensor group_mean(const Tensor& x, const Attributes& attributes) {
  return add_tensor(group_mean_def, {x}, {.attributes = attributes});
}

struct Gradients {
  Tensor dx, dgamma, dbeta;
};
Gradients group_norm_grad(const Tensor& dy, const GradientContext& forward);

const OpRegistration group_norm_def =
    define_op("GroupNorm")
        .input("x")
        .input("gamma")
        .input("beta")
        .output("y")
        .output("mean")
        .output("inv_std")
        .shape([](const ShapeContext& c) {
          const Shape groups = group_shape(c, 0), channels{c.input(0)[axis_of(c.attributes())]};
          check_shape(c, 1, "gamma", channels);
          check_shape(c, 2, "beta", channels);
          return Shapes{c.input(0), groups, groups};
        })
        .dtype([](const ShapeContext& c) { return std::vector(3, c.dtype(0)); })
        .gradient([](const GradientContext& c) {
          const Gradients d = group_norm_grad(c.grad(0), c);
          return Tensors{d.dx, d.dgamma, d.dbeta};
        })
        .doc("Normalises groups of channels within each example, scales by gamma, adds beta.");

// dx and dgamma again, made of ops that have gradients, for second derivatives.
Gradients composed(const Tensor& dy, const Tensor& x, const Tensor& gamma, const Attributes& attributes) {
  const int axis = axis_of(attributes);
  const Tensor from_mean = x - group_mean(x, attributes);
  const Tensor inv_std = rsqrt(group_mean(square(from_mean), attributes) + attributes.get<double>("epsilon"));
  const Tensor xhat = from_mean * inv_std, g = dy * spread(gamma, x, axis);
  Ints others;
  for (int i = 0; i < x.rank(); ++i)
    if (i != axis) others.push_back(i);
  // dx = (g - E[g] - xhat E[g xhat]) / std, E over a group
  return {(g - group_mean(g, attributes) - xhat * group_mean(g * xhat, attributes)) * inv_std,
          reduce_sum(dy * xhat, {.axes = others}), reduce_sum(dy, {.axes = others})};
}

const OpRegistration group_norm_grad_def =
    define_op("GroupNormGrad")
        .input("dy")
        .input("x")
        .input("gamma")
        .input("mean")
        .input("inv_std")
        .output("dx")
        .output("dgamma")
        .output("dbeta")
        .shape([](const ShapeContext& c) {
          const Shape groups = group_shape(c, 1);
          check_shape(c, 0, "dy", c.input(1));
          check_shape(c, 3, "mean", groups);
          check_shape(c, 4, "inv_std", groups);
          return Shapes{merge(c.input(0), c.input(1)), c.input(2), c.input(2)};
        })
        .dtype([](const ShapeContext& c) { return std::vector(3, c.dtype(0)); })
        // mean and inv_std are functions of x here. Copies of the inputs exclude the dependence of dy itself on x.
        .gradient([](const GradientContext& c) {
          const Tensor dy = identity(c.input(0)), x = identity(c.input(1)), gamma = identity(c.input(2));
          const Gradients d = composed(dy, x, gamma, c.attributes());
          const Tensor results[] = {d.dx, d.dgamma, d.dbeta};
          Tensors ys, grads;
          for (int i = 0; i < 3; ++i)
            if (c.has_grad(i)) {
              ys.push_back(results[i]);
              grads.push_back(c.grad(i));
            }
          const Tensors out = gradients(ys, {dy, x, gamma}, {.grad_ys = grads});
          return Tensors{out[0], out[1], out[2], Tensor(), Tensor()};
        })
        .doc("The gradient of GroupNorm.");

Gradients group_norm_grad(const Tensor& dy, const GradientContext& forward) {
  Node* node =
      add_op(group_norm_grad_def, {dy, forward.input(0), forward.input(1), forward.output(1), forward.output(2)},
             {.attributes = forward.attributes()});
  return {{node, 0}, {node, 1}, {node, 2}};
}

struct Norm {
  const char* op;
  std::int64_t groups;
  double epsilon;
  DataFormat format;
};
Tensor normalised(const Norm& norm, const Operand& x, const Operand& gamma, const Operand& beta,
                  std::string_view name) {
  const int rank = x.tensor().rank();
  BELFRY_CHECK(rank >= 2, "[{}] expected a batch of rank 2 or more, got '{}' {} (made at {})", norm.op,
               x.tensor().name(), to_string(x.tensor().shape()), to_string(current_location(x.where())));
  const std::int64_t axis = norm.format == DataFormat::nhwc ? rank - 1 : 1;
  return add_tensor(group_norm_def, {x, gamma, beta},
                    {.name = name, .attributes = {{"groups", norm.groups}, {"epsilon", norm.epsilon}, {"axis", axis}}});
}

}  // namespace

Tensor group_norm(const Operand& x, const Operand& gamma, const Operand& beta, const GroupNormOptions& options,
                  std::string_view name) {
  BELFRY_CHECK(options.groups >= 1, "[group_norm] expected .groups of 1 or more, got {} (made at {})", options.groups,
               to_string(current_location(x.where())));
  return normalised({"group_norm", options.groups, options.epsilon, options.data_format}, x, gamma, beta, name);
}

Tensor instance_norm(const Operand& x, const Operand& gamma, const Operand& beta, const InstanceNormOptions& options,
                     std::string_view name) {
  return normalised({"instance_norm", 0, options.epsilon, options.data_format}, x, gamma, beta, name);
}

}  // namespace belfry
