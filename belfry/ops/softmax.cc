#include "belfry/ops/softmax.h"

#include "belfry/base/check.h"
#include "belfry/graph/graph.h"
#include "belfry/ops/broadcast.h"
#include "belfry/ops/internal/input_checks.h"
#include "belfry/ops/pointwise.h"
#include "belfry/ops/reduce.h"

namespace belfry {
namespace {

Tensor sum_last(const Tensor& x, bool keep_dims) { return reduce_sum(x, {.axes = {-1}, .keep_dims = keep_dims}); }

Shapes logits_rule(const ShapeContext& c) {
  const Shape& logits = c.input(0);
  check_float(c, 0, "logits");
  BELFRY_CHECK(logits.rank() >= 1, "expected logits of rank 1 or more, got {}", to_string(logits));
  return logits;
}

// y_i = exp(x_i - max x) / sum_j exp(x_j - max x)
const OpRegistration softmax_def = define_op("Softmax")
                                       .input("logits")
                                       .output("probabilities")
                                       .shape(logits_rule)
                                       // dx = (dy - sum(dy * y)) * y
                                       .gradient([](const GradientContext& c) {
                                         const Tensor y = c.output(), dy = c.grad();
                                         return Tensors{(dy - sum_last(dy * y, true)) * y};
                                       })
                                       .doc("Softmax over the last axis.");

const OpRegistration log_softmax_def =
    define_op("LogSoftmax")
        .input("logits")
        .output("log_probabilities")
        .shape(logits_rule)
        // dx = dy - sum(dy) * exp(y)
        .gradient(
            [](const GradientContext& c) { return Tensors{c.grad() - sum_last(c.grad(), true) * exp(c.output())}; })
        .doc("The logarithm of softmax over the last axis, exact where probabilities are tiny.");

// What is known of the shape of labels and losses: that of logits without the classes.
Shape rows_rule(const ShapeContext& c) {
  const Shape logits = logits_rule(c).front(), rows = logits.without(logits.rank() - 1);
  BELFRY_CHECK(logits[-1] != 0, "expected logits of at least one class, got {}", to_string(logits));
  check_label_type(c, 1, "labels");
  check_shape(c, 1, "labels", rows);
  return merge(rows, c.input(1));
}

Tensor cross_entropy_grad(const Tensor& logits, const Tensor& labels, const Tensor& dloss);

const OpRegistration cross_entropy_def =
    define_op("SparseSoftmaxCrossEntropy")
        .input("logits")
        .input("labels")
        .output("loss")
        .shape([](const ShapeContext& c) { return rows_rule(c); })
        .gradient([](const GradientContext& c) {
          return Tensors{cross_entropy_grad(c.input(0), c.input(1), c.grad()), Tensor()};
        })
        .doc("-log of the probability that softmax gives to the label, for each row.");

// dlogits = (softmax(logits) - one_hot(labels)) * dloss
const OpRegistration cross_entropy_grad_def =
    define_op("SparseSoftmaxCrossEntropyGrad")
        .input("logits")
        .input("labels")
        .input("dloss")
        .output("dlogits")
        .shape([](const ShapeContext& c) {
          const Shape rows = rows_rule(c);
          check_shape(c, 2, "dloss", rows);
          return c.input(0);
        })
        // With g = the gradient of dlogits and p = softmax(logits):
        //   logits: p * (g - sum(g * p)) * dloss;  dloss: sum(g * (p - one_hot)), where p - one_hot is this op at dloss
        //   = 1
        .gradient([](const GradientContext& c) {
          const Tensor logits = c.input(0), labels = c.input(1), dloss = c.input(2), g = c.grad();
          const Tensor p = softmax(logits), inner = sum_last(g * p, true);
          const Tensor unscaled = cross_entropy_grad(logits, labels, ones_like(dloss));
          return Tensors{p * (g - inner) * reshape_like(dloss, inner), Tensor(), sum_last(g * unscaled, false)};
        })
        .doc("The gradient of SparseSoftmaxCrossEntropy.");

Tensor cross_entropy_grad(const Tensor& logits, const Tensor& labels, const Tensor& dloss) {
  return add_tensor(cross_entropy_grad_def, {logits, labels, dloss});
}

}  // namespace

Tensor softmax(const Operand& logits, std::string_view name) {
  return add_tensor(softmax_def, {logits}, {.name = name});
}
Tensor log_softmax(const Operand& logits, std::string_view name) {
  return add_tensor(log_softmax_def, {logits}, {.name = name});
}
Tensor sparse_softmax_cross_entropy(const Operand& logits, const Operand& labels, std::string_view name) {
  return add_tensor(cross_entropy_def, {logits, labels}, {.name = name});
}

}  // namespace belfry
