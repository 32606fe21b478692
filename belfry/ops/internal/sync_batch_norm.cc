#include "belfry/ops/internal/sync_batch_norm.h"

#include "belfry/base/check.h"
#include "belfry/graph/gradients.h"
#include "belfry/graph/graph.h"
#include "belfry/ops/array_ops.h"
#include "belfry/ops/basic.h"
#include "belfry/ops/broadcast.h"
#include "belfry/ops/internal/axes.h"
#include "belfry/ops/internal/channels.h"
#include "belfry/ops/internal/input_checks.h"
#include "belfry/ops/pointwise.h"

namespace belfry {
namespace {

// In f64, so that mean(x^2) - mean(x)^2 is precise enough for x in f32: even for numbers whose mean is 1e6 times their
// deviation, four digits of the variance are correct.
const OpRegistration sums_def =
    define_op("BatchNormSums")
        .input("x")
        .output("sums")
        .shape([](const ShapeContext& c) { return Shape{3, check_channels(c, 0, {})}; })
        .dtype(DType::f64)
        // dx = dsum + 2 x dsquares
        .gradient([](const GradientContext& c) {
          const Tensor x = c.input(0);
          const Channels channels(x, c.attributes());
          const Tensor d = cast(c.grad(), x.dtype());
          const auto row = [&](std::int64_t k) { return squeeze(slice(d, {k, 0}, {1, kAny}), {0}); };
          return Tensors{x * channels.spread(row(2) * 2.f) + channels.spread(row(1))};
        })
        .doc("How many elements a channel has, their sum, and the sum of their squares, as f64 [3, channels].");

// With r = 1 / sqrt(variance + epsilon), xhat = (x - mean) r. Given u and v for dgamma and dbeta:
//   to dy: u xhat + v;  to x: dy u r;  to mean: -r u dbeta;  to variance: -r^2/2 u dgamma
const OpRegistration gradient_sums_def =
    define_op("BatchNormGradSums")
        .input("dy")
        .input("x")
        .input("mean")
        .input("variance")
        .output("dgamma")
        .output("dbeta")
        .shape([](const ShapeContext& c) {
          check_shape(c, 0, "dy", c.input(1));
          const Shape channels{check_channels(c, 1, {2, 3})};
          return Shapes{channels, channels};
        })
        .gradient([](const GradientContext& c) {
          const Tensor dy = c.input(0), x = c.input(1), mean = c.input(2);
          const Channels channels(x, c.attributes());
          if (!c.has_grad(0)) return Tensors{broadcast_like(channels.spread(c.grad(1)), dy), {}, {}, {}};
          const Tensor u = c.grad(0), r = rsqrt(c.input(3) + c.attributes().get<double>("epsilon"));
          const Tensor slope = channels.spread(u * r);
          Tensor to_dy = (x - channels.spread(mean)) * slope;
          if (c.has_grad(1)) to_dy = to_dy + channels.spread(c.grad(1));
          return Tensors{to_dy, dy * slope, -(u * r * c.output(1)), u * square(r) * c.output(0) * -0.5f};
        })
        .doc("sum(dy xhat) and sum(dy) of each channel, where xhat is x normalised by a given mean and variance.");

// Given w:  to dy: scale w;  to x: slope w;  to mean: -slope sum(w);  to scale: sum(w dy);  to slope: sum(w (x -
// mean)); to shift: sum(w)
const OpRegistration blend_def =
    define_op("BatchNormBlend")
        .input("dy")
        .input("x")
        .input("mean")
        .input("scale")
        .input("slope")
        .input("shift")
        .output("dx")
        .shape([](const ShapeContext& c) {
          check_shape(c, 0, "dy", c.input(1));
          check_channels(c, 1, {2, 3, 4, 5});
          return merge(c.input(0), c.input(1));
        })
        .gradient([](const GradientContext& c) {
          const Tensor w = c.grad(), dy = c.input(0), x = c.input(1), mean = c.input(2);
          const Channels channels(x, c.attributes());
          const Tensor total = channels.sum(w);
          return Tensors{w * channels.spread(c.input(3)),
                         w * channels.spread(c.input(4)),
                         -(c.input(4) * total),
                         channels.sum(w * dy),
                         channels.sum(w * (x - channels.spread(mean))),
                         total};
        })
        .doc("scale dy + slope (x - mean) + shift, where all but dy and x have one number per channel.");

struct SyncNorm {
  Attributes attributes;
  CrossTowerGroup towers;
  Tensor count;  // at least 1, in x's type
};

// For the sum L of all towers' costs, with r as above and n elements per channel in all towers:
//   dgamma = sum(dy xhat), dbeta = sum(dy) over this tower's, which the trainer joins with the others';
//   of the common statistics  M = sum over towers(dmean - gamma r dbeta),  V = sum over towers(dvariance - gamma r^2/2
//   dgamma);  dx = gamma r dy + M/n + 2 (x - mean) V/n
Tensors backward(const SyncNorm& norm, const Tensors& in, const Tensors& out, const Tensors& grads) {
  const Tensor x = in[0], mean = out[1], variance = out[2], dy = grads[0];
  const Tensor r = rsqrt(variance + norm.attributes.get<double>("epsilon")), scale = in[1] * r;
  Node* sums = add_op(gradient_sums_def, {dy, x, mean, variance}, {.attributes = norm.attributes});
  const Tensor dgamma = sums->output(0), dbeta = sums->output(1);
  CrossTowerGroup towers = norm.towers;
  towers.name += "/gradient";
  const Tensors common =
      unstack(cross_tower_sum(stack({grads[1] - scale * dbeta, grads[2] - scale * r * dgamma * 0.5f}), towers));
  const Tensor dx = add_tensor(blend_def, {dy, x, mean, scale, common[1] * 2.f / norm.count, common[0] / norm.count},
                               {.attributes = norm.attributes});
  return {dx, dgamma, dbeta};
}

}  // namespace

SyncBatchNormResult sync_batch_norm(const Operand& x, const Operand& gamma, const Operand& beta,
                                    const BatchNormOptions& options, const CrossTowerGroup& towers) {
  const Tensor t = x.tensor();
  SyncNorm norm{
      .attributes = {{"epsilon", options.epsilon},
                     {"axis", static_cast<std::int64_t>(normalize_axis(options.axis, t.rank(), "batch_norm"))}},
      .towers = towers,
      .count = {}};
  const Tensor own = add_tensor(sums_def, {x}, {.attributes = norm.attributes});
  const Tensors sums = unstack(cross_tower_sum(own, towers));
  const Tensor count = maximum(sums[0], 1.), exact_mean = sums[1] / count;
  const Tensor mean = cast(exact_mean, t.dtype()),
               variance = cast(maximum(sums[2] / count - square(exact_mean), 0.), t.dtype());
  norm.count = cast(count, t.dtype());
  const Tensors out = custom_gradient(
      {t, gamma.tensor(), beta.tensor()},
      [&](const Tensors& in) {
        const BatchNormParameters given{.gamma = in[1], .beta = in[2], .mean = mean, .variance = variance};
        return Tensors{batch_norm_inference(in[0], given, options), mean, variance};
      },
      [norm](const Tensors& in, const Tensors& outs, const Tensors& grads) { return backward(norm, in, outs, grads); });
  return {out[0], out[1], out[2], cast(sums[0], t.dtype())};
}

}  // namespace belfry
