#include "belfry/ops/sigmoid_cross_entropy.h"

#include "belfry/graph/graph.h"
#include "belfry/ops/broadcast.h"
#include "belfry/ops/internal/input_checks.h"
#include "belfry/ops/pointwise.h"

namespace belfry {
namespace {

Shape elements_rule(const ShapeContext& c) {
  check_one_float_type(c);
  check_shape(c, 1, "labels", c.input(0));
  return merge(c.input(0), c.input(1));
}

Tensor cross_entropy_grad(const Tensor& logits, const Tensor& labels, const Tensor& dloss);

// loss = max(x, 0) - x z + log(1 + e^-|x|)
const OpRegistration cross_entropy_def =
    define_op("SigmoidCrossEntropy")
        .input("logits")
        .input("labels")
        .output("loss")
        .shape([](const ShapeContext& c) { return elements_rule(c); })
        .gradient([](const GradientContext& c) {
          const Tensor logits = c.input(0), labels = c.input(1), dloss = c.grad();
          return Tensors{cross_entropy_grad(logits, labels, dloss), -(logits * dloss)};
        })
        .doc("-z log(sigmoid(x)) - (1 - z) log(1 - sigmoid(x)) for logits x and labels z.");

// dx = (sigmoid(x) - z) dloss
const OpRegistration cross_entropy_grad_def =
    define_op("SigmoidCrossEntropyGrad")
        .input("logits")
        .input("labels")
        .input("dloss")
        .output("dlogits")
        .shape([](const ShapeContext& c) {
          const Shape elements = elements_rule(c);
          check_shape(c, 2, "dloss", elements);
          return merge(elements, c.input(2));
        })
        // With g = the gradient of dx and s = sigmoid(x): x: g dloss s (1 - s);  z: -g dloss;  dloss: g (s - z).
        .gradient([](const GradientContext& c) {
          const Tensor s = sigmoid(c.input(0)), labels = c.input(1), scaled = c.grad() * c.input(2);
          return Tensors{scaled * s * (1.f - s), -scaled, c.grad() * (s - labels)};
        })
        .doc("The gradient of SigmoidCrossEntropy with respect to its logits.");

Tensor cross_entropy_grad(const Tensor& logits, const Tensor& labels, const Tensor& dloss) {
  return add_tensor(cross_entropy_grad_def, {logits, labels, dloss});
}

}  // namespace

Tensor sigmoid_cross_entropy(const Operand& logits, const Operand& labels, std::string_view name) {
  const Tensor x = logits.tensor();
  Operand z = labels;
  if (x && (labels.is_number() || labels.tensor().rank() == 0) && x.rank() > 0)
    z = Operand(broadcast_like(labels.tensor(x.dtype()), x), labels.where());
  return add_tensor(cross_entropy_def, {logits, z}, {.name = name});
}

}  // namespace belfry
