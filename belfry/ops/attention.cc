#include "belfry/ops/attention.h"

#include "belfry/graph/graph.h"
#include "belfry/ops/array_ops.h"
#include "belfry/ops/basic.h"
#include "belfry/ops/heads.h"
#include "belfry/ops/internal/attention_checks.h"
#include "belfry/ops/internal/composite_gradient.h"
#include "belfry/ops/matmul.h"
#include "belfry/ops/pointwise.h"
#include "belfry/ops/softmax.h"

namespace belfry {
namespace {

// A function of {q, k, v} and, if it has a gradient, the mask; any other mask is `mask`.
Composite composite(const Attributes& attributes, const Tensor& mask) {
  return [options = attention_options(attributes), mask](const Tensors& in) {
    AttentionOptions all = options;
    all.mask = in.size() > 3 ? in[3] : mask;
    return attention_by_parts(in[0], in[1], in[2], all);
  };
}

Tensors attention_grad(const GradientContext& c);

// lse is the logarithm of the sum of exp(scores) of each query.
const OpRegistration attention_def = define_op("Attention")
                                         .input("q")
                                         .input("k")
                                         .input("v")
                                         .inputs("mask")
                                         .output("y")
                                         .output("lse")
                                         .shape([](const ShapeContext& c) {
                                           const AttentionForms f = check_attention_inputs(c, 0);
                                           check_attention_mask(c, 3, f);
                                           Shape y = c.input(0);
                                           y.set(-1, c.input(2)[-1]);
                                           return Shapes{y, f.q.slice(0, 3)};
                                         })
                                         .gradient(attention_grad)
                                         .doc("Scaled dot-product attention of queries to keys and their values.");

// The probabilities p are computed again, from lse. With dp = dy v':
//   ds = p (dp - sum(dy y)) scale,  dq = ds k,  dk = ds' q,  dv = p' dy
// y and lse are functions of q, k and v, to which gradients with respect to y and lse go.
const OpRegistration attention_grad_def =
    define_op("AttentionGrad")
        .input("dy")
        .input("q")
        .input("k")
        .input("v")
        .input("y")
        .input("lse")
        .inputs("mask")
        .output("dq")
        .output("dk")
        .output("dv")
        .shape([](const ShapeContext& c) {
          check_attention_mask(c, 6, check_attention_inputs(c, 1));
          return Shapes{c.input(1), c.input(2), c.input(3)};
        })
        .gradient([](const GradientContext& c) {
          Tensors out(static_cast<std::size_t>(c.inputs())), inputs{c.input(1), c.input(2), c.input(3)};
          const Tensor mask = c.inputs() > 6 ? c.input(6) : Tensor();
          if (mask && is_float(mask.dtype())) inputs.push_back(mask);
          const Tensors inner = composite_second_gradients(composite(c.attributes(), mask), inputs, c.input(0),
                                                           {c.grad(0), c.grad(1), c.grad(2)});
          out[0] = inner.back();
          for (std::size_t i = 0; i < 3; ++i) out[1 + i] = inner[i];
          if (inputs.size() > 3) out[6] = inner[3];
          return out;
        })
        .doc("The gradient of Attention with respect to q, k and v.");

Tensors attention_grad(const GradientContext& c) {
  Tensors out(static_cast<std::size_t>(c.inputs()));
  if (!c.has_grad(0)) return out;
  std::vector<Operand> inputs{c.grad(0), c.input(0), c.input(1), c.input(2), c.output(0), c.output(1)};
  if (c.inputs() > 3) inputs.emplace_back(c.input(3));
  Node* node = add_op(attention_grad_def, inputs, {.attributes = c.attributes()});
  for (int i = 0; i < 3; ++i) out[static_cast<std::size_t>(i)] = node->output(i);
  // Runs only if the gradient of a mask is needed.
  if (c.inputs() > 3 && is_float(c.input(3).dtype()))
    out[3] = composite_gradients(composite(c.attributes(), {}), {c.input(0), c.input(1), c.input(2), c.input(3)},
                                 c.grad(0))[3];
  return out;
}

}  // namespace

Tensor attention(const Operand& q, const Operand& k, const Operand& v, const AttentionOptions& options,
                 std::string_view name) {
  std::vector<Operand> inputs{q, k, v};
  if (options.mask) inputs.emplace_back(options.mask);
  return add_tensor(
      attention_def, inputs,
      {.name = name,
       .attributes = {{"causal", options.causal}, {"scale", attention_scale(q, options)}, {"heads", options.heads}}});
}

Tensor attention_by_parts(const Operand& q, const Operand& k, const Operand& v, const AttentionOptions& options,
                          const std::function<Tensor(const Tensor&)>& on_probabilities, std::string_view name) {
  const bool joined = q.tensor().rank() == 3;
  const auto apart = [&](const Operand& x) { return joined ? split_heads(x, options.heads) : x.tensor(); };
  Tensor scores = matmul(apart(q), apart(k), {.transpose_b = true}) * attention_scale(q, options);
  const Tensor& mask = options.mask;
  if (mask && is_float(mask.dtype())) scores = scores + mask;
  Tensor allowed;  // 1 where a query may attend
  if (options.causal) allowed = band_part(ones_like(scores), -1, 0);
  if (mask && mask.dtype() == boolean) {
    const Tensor may = cast(mask, scores.dtype());
    allowed = allowed ? allowed * may : may;
  }
  Tensor p = softmax(allowed ? select(greater(allowed, 0.f), scores, -1e30f) : scores);
  if (allowed) p = p * allowed;  // matters only for a query that may attend to nothing
  if (on_probabilities) p = on_probabilities(p);
  const Tensor y = matmul(p, apart(v), joined ? "" : name);
  return joined ? merge_heads(y, name) : y;
}

}  // namespace belfry
