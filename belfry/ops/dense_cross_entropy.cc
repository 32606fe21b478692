// Softmax cross-entropy against labels that are distributions.
#include "belfry/base/check.h"
#include "belfry/graph/graph.h"
#include "belfry/ops/array_ops.h"
#include "belfry/ops/internal/input_checks.h"
#include "belfry/ops/pointwise.h"
#include "belfry/ops/reduce.h"
#include "belfry/ops/softmax.h"

namespace belfry {
namespace {

Tensor sum_last(const Tensor& x, bool keep_dims) { return reduce_sum(x, {.axes = {-1}, .keep_dims = keep_dims}); }

// [..., classes] without the classes
Shape rows_rule(const ShapeContext& c) {
  check_one_float_type(c);
  const Shape& logits = c.input(0);
  BELFRY_CHECK(logits.rank() >= 1, "expected logits of rank 1 or more, got {}", to_string(logits));
  BELFRY_CHECK(logits[-1] != 0, "expected logits of at least one class, got {}", to_string(logits));
  check_shape(c, 1, "labels", logits);
  const Shape both = merge(logits, c.input(1));
  return both.without(both.rank() - 1);
}

Tensor cross_entropy_grad(const Tensor& logits, const Tensor& labels, const Tensor& dloss);

const OpRegistration cross_entropy_def =
    define_op("SoftmaxCrossEntropy")
        .input("logits")
        .input("labels")
        .output("loss")
        .shape([](const ShapeContext& c) { return rows_rule(c); })
        // dlabels = -log_softmax(logits) * dloss
        .gradient([](const GradientContext& c) {
          const Tensor logs = log_softmax(c.input(0));
          const Tensor dloss = expand_dims(c.grad(), -1);
          return Tensors{cross_entropy_grad(c.input(0), c.input(1), c.grad()), -(logs * dloss)};
        })
        .doc("-sum of labels times the logarithms that softmax gives, for each row.");

// dlogits = (softmax(logits) * sum(labels) - labels) * dloss
const OpRegistration cross_entropy_grad_def =
    define_op("SoftmaxCrossEntropyGrad")
        .input("logits")
        .input("labels")
        .input("dloss")
        .output("dlogits")
        .shape([](const ShapeContext& c) {
          check_shape(c, 2, "dloss", rows_rule(c));
          return merge(c.input(0), c.input(1));
        })
        // With g = the gradient of dlogits, p = softmax(logits), d = dloss and s = sum(labels):
        //   logits: p (g - sum(g p)) s d;  labels: (sum(g p) - g) d;  dloss: sum(g (p s - labels))
        .gradient([](const GradientContext& c) {
          const Tensor logits = c.input(0), labels = c.input(1), g = c.grad(), p = softmax(logits);
          const Tensor d = expand_dims(c.input(2), -1), s = sum_last(labels, true), inner = g - sum_last(g * p, true);
          return Tensors{p * inner * (s * d), -(inner * d), sum_last(g * (p * s - labels), false)};
        })
        .doc("The gradient of SoftmaxCrossEntropy with respect to the logits.");

Tensor cross_entropy_grad(const Tensor& logits, const Tensor& labels, const Tensor& dloss) {
  return add_tensor(cross_entropy_grad_def, {logits, labels, dloss});
}

}  // namespace

Tensor softmax_cross_entropy(const Operand& logits, const Operand& labels, std::string_view name) {
  return add_tensor(cross_entropy_def, {logits, labels}, {.name = name});
}

}  // namespace belfry
