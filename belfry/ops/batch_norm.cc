#include "belfry/ops/batch_norm.h"

#include "belfry/base/check.h"
#include "belfry/graph/graph.h"
#include "belfry/ops/broadcast.h"
#include "belfry/ops/internal/channels.h"
#include "belfry/ops/internal/input_checks.h"
#include "belfry/ops/pointwise.h"

namespace belfry {
namespace {

// x is input `at`; the inputs `vectors` have one number per channel. Gives the number of channels.
std::int64_t check_inputs(const ShapeContext& c, int at, std::initializer_list<int> vectors) {
  const double epsilon = c.attributes().get<double>("epsilon");
  BELFRY_CHECK(epsilon >= 0, "expected epsilon of 0 or more, got {}", epsilon);
  return check_channels(c, at, vectors);
}

struct Gradients {
  Tensor dx, dgamma, dbeta;
};
// Inputs of the op are dy, then the rest.
struct Rest {
  Tensor x, gamma, mean, variance;
};
Gradients batch_norm_grad(const Tensor& dy, const Rest& rest, const Attributes& attributes);

Tensor sum_of(const Tensor& a, const Tensor& b) { return a && b ? a + b : a ? a : b; }

const OpRegistration batch_norm_def =
    define_op("BatchNorm")
        .input("x")
        .input("gamma")
        .input("beta")
        .output("y")
        .output("mean")
        .output("variance")
        .shape([](const ShapeContext& c) {
          const Shape channels{check_inputs(c, 0, {1, 2})};
          return Shapes{c.input(0), channels, channels};
        })
        // To y: BatchNormGrad, which knows that mean and variance are those of x. To mean: dmean / count each. To
        // variance: 2 (x - mean) dvariance / count.
        .gradient([](const GradientContext& c) {
          const Tensor x = c.input(0), mean = c.output(1), variance = c.output(2);
          Gradients d;
          if (c.has_grad(0)) d = batch_norm_grad(c.grad(0), {x, c.input(1), mean, variance}, c.attributes());
          const Channels channels(x, c.attributes());
          if (c.has_grad(1)) d.dx = sum_of(d.dx, broadcast_like(channels.spread(c.grad(1) / channels.count()), x));
          if (c.has_grad(2)) {
            const Tensor each = channels.spread(c.grad(2) * 2.f / channels.count());
            d.dx = sum_of(d.dx, (x - channels.spread(mean)) * each);
          }
          return Tensors{d.dx, d.dgamma, d.dbeta};
        })
        .doc("Normalises each channel by the mean and variance of the batch, scales by gamma, adds beta.");

// With r = 1 / sqrt(variance + epsilon), xhat = (x - mean) r, E = the mean over a channel:
//   dx = gamma r (dy - E[dy] - xhat E[dy xhat]),  dgamma = sum(dy xhat),  dbeta = sum(dy)
const OpRegistration batch_norm_grad_def =
    define_op("BatchNormGrad")
        .input("dy")
        .input("x")
        .input("gamma")
        .input("mean")
        .input("variance")
        .output("dx")
        .output("dgamma")
        .output("dbeta")
        .shape([](const ShapeContext& c) {
          check_shape(c, 0, "dy", c.input(1));
          const Shape channels{check_inputs(c, 1, {2, 3, 4})};
          return Shapes{merge(c.input(0), c.input(1)), channels, channels};
        })
        // As a function of five independent inputs; the gradients of mean and variance go on to BatchNorm. With u, v, w
        // those of dx, dgamma, dbeta, a = E[dy], b = E[dy xhat], p = E[u], q = E[u xhat], k = gamma r:
        //   to dy: k (u - p - xhat q) + v xhat + w, of which the first term is this op at u
        //   to xhat: G = v dy - k (dy q + u b)
        //   to gamma: r s with s = sum(u dy) - count (a p + b q)
        //   to x: r G;  to mean: -r sum(G);  to variance: -r^2/2 (k s + sum(G xhat))
        // where sum(G) = count (v a - k (a q + p b)) and sum(G xhat) = count (v b - 2 k b q).
        .gradient([](const GradientContext& c) {
          const Tensor dy = c.input(0);
          const Rest rest{c.input(1), c.input(2), c.input(3), c.input(4)};
          const Channels channels(rest.x, c.attributes());
          const auto spread = [&](const Tensor& t) { return channels.spread(t); };
          const Tensor r = rsqrt(rest.variance + c.attributes().get<double>("epsilon"));
          const Tensor dgamma = c.output(1), dbeta = c.output(2);
          Tensor to_dy, to_xhat, to_gamma, sum_g, sum_g_xhat, to_scale;
          if (c.has_grad(0)) {
            const Tensor u = c.grad(0), k = rest.gamma * r, count = channels.count();
            const Gradients at_u = batch_norm_grad(u, rest, c.attributes());
            const Tensor q = at_u.dgamma / count, b = dgamma / count;
            const Tensor s = channels.sum(u * dy) - dbeta * at_u.dbeta / count - dgamma * q;
            to_dy = at_u.dx;
            to_xhat = -(dy * spread(k * q) + u * spread(k * b));
            to_gamma = r * s;
            to_scale = k * s;
            sum_g = -(k * (dbeta * q + at_u.dbeta * b));
            sum_g_xhat = k * dgamma * q * -2.f;
          }
          if (c.has_grad(1)) {
            const Tensor v = c.grad(1);
            to_dy = sum_of(to_dy, (rest.x - spread(rest.mean)) * spread(r * v));
            to_xhat = sum_of(to_xhat, dy * spread(v));
            sum_g = sum_of(sum_g, v * dbeta);
            sum_g_xhat = sum_of(sum_g_xhat, v * dgamma);
          }
          if (c.has_grad(2)) to_dy = sum_of(to_dy, broadcast_like(spread(c.grad(2)), dy));
          if (!to_xhat) return Tensors{to_dy, Tensor(), Tensor(), Tensor(), Tensor()};
          const Tensor to_variance = square(r) * sum_of(to_scale, sum_g_xhat) * -0.5f;
          return Tensors{to_dy, to_xhat * spread(r), to_gamma, -(r * sum_g), to_variance};
        })
        .doc("The gradient of BatchNorm with respect to x, gamma and beta.");

const OpRegistration batch_norm_inference_def =
    define_op("BatchNormInference")
        .input("x")
        .input("gamma")
        .input("beta")
        .input("mean")
        .input("variance")
        .output("y")
        .shape([](const ShapeContext& c) {
          check_inputs(c, 0, {1, 2, 3, 4});
          return c.input(0);
        })
        // dx = dy gamma r,  dgamma = sum(dy xhat),  dbeta = sum(dy),  dmean = -gamma r dbeta,
        // dvariance = -1/2 gamma r^2 dgamma
        .gradient([](const GradientContext& c) {
          const Tensor dy = c.grad(), x = c.input(0), gamma = c.input(1), mean = c.input(3), variance = c.input(4);
          const Channels channels(x, c.attributes());
          const Tensor r = rsqrt(variance + c.attributes().get<double>("epsilon")), scale = gamma * r;
          const Tensor dbeta = channels.sum(dy), dgamma = channels.sum(dy * (x - channels.spread(mean))) * r;
          return Tensors{dy * channels.spread(scale), dgamma, dbeta, -(scale * dbeta), scale * r * dgamma * -0.5f};
        })
        .doc("Normalises each channel by a given mean and variance, scales by gamma, adds beta.");

Gradients batch_norm_grad(const Tensor& dy, const Rest& rest, const Attributes& attributes) {
  Node* node =
      add_op(batch_norm_grad_def, {dy, rest.x, rest.gamma, rest.mean, rest.variance}, {.attributes = attributes});
  return {node->output(0), node->output(1), node->output(2)};
}

Attributes attributes_of(const Operand& x, const BatchNormOptions& options) {
  const std::int64_t axis = normalize_axis(options.axis, x.tensor().rank(), "batch_norm");
  return {{"epsilon", options.epsilon}, {"axis", axis}};
}

}  // namespace

BatchNormResult batch_norm(const Operand& x, const Operand& gamma, const Operand& beta, const BatchNormOptions& options,
                           std::string_view name) {
  Node* node = add_op(batch_norm_def, {x, gamma, beta}, {.name = name, .attributes = attributes_of(x, options)});
  return {node->output(0), node->output(1), node->output(2)};
}

Tensor batch_norm_inference(const Operand& x, const BatchNormParameters& p, const BatchNormOptions& options,
                            std::string_view name) {
  return add_tensor(batch_norm_inference_def, {x, p.gamma, p.beta, p.mean, p.variance},
                    {.name = name, .attributes = attributes_of(x, options)});
}

}  // namespace belfry
