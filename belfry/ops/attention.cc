#include "belfry/ops/attention.h"

#include <cmath>

#include "belfry/base/check.h"
#include "belfry/graph/graph.h"
#include "belfry/ops/array_ops.h"
#include "belfry/ops/basic.h"
#include "belfry/ops/composite_gradient.h"
#include "belfry/ops/heads.h"
#include "belfry/ops/matmul.h"
#include "belfry/ops/pointwise.h"
#include "belfry/ops/softmax.h"

namespace belfry {
namespace {

// The common form of both kinds of inputs, [batch, heads, time, depth].
Shape by_heads(const Shape& x, std::int64_t heads) {
  if (x.rank() == 4) return x;
  return {x[0], heads, x[1], x[2] == kAny ? kAny : x[2] / heads};
}

void check_form(const ShapeContext& c, int q) {
  const std::int64_t heads = c.attributes().integer("heads");
  const Shape &query = c.input(q), &key = c.input(q + 1), &value = c.input(q + 2);
  BELFRY_CHECK((query.rank() == 3 || query.rank() == 4) && key.rank() == query.rank() && value.rank() == query.rank(),
               "expected q, k and v of rank 4 ([batch, heads, time, depth]) or 3 ([batch, time, heads * depth]), got "
               "{}, {} and {}",
               to_string(query), to_string(key), to_string(value));
  BELFRY_CHECK(heads >= 1, "expected .heads of 1 or more, got {}", heads);
  BELFRY_CHECK(query.rank() == 3 || heads == 1,
               "expected .heads for inputs of rank 3 only, got {} for {}, whose axis 1 counts the heads", heads,
               to_string(query));
  for (int i = q; i < q + 3; ++i) {
    BELFRY_CHECK(is_float(c.dtype(i)) && c.dtype(i) == c.dtype(q),
                 "expected q, k and v of one floating type, got {} and {}. Use cast()", name_of(c.dtype(q)),
                 name_of(c.dtype(i)));
    const std::int64_t last = c.input(i)[-1];
    BELFRY_CHECK(query.rank() == 4 || last == kAny || last % heads == 0,
                 "expected a last axis that divides into {} heads, got {}", heads, to_string(c.input(i)));
  }
}

struct Forms {
  Shape q, k, v;
};

// Everything that q, k and v (the inputs from `at` on) must agree in.
Forms check_inputs(const ShapeContext& c, int at) {
  check_form(c, at);
  const std::int64_t heads = c.attributes().integer("heads");
  const Forms f{by_heads(c.input(at), heads), by_heads(c.input(at + 1), heads), by_heads(c.input(at + 2), heads)};
  const auto agree = [](std::int64_t a, std::int64_t b) { return a == b || a == kAny || b == kAny; };
  BELFRY_CHECK(
      agree(f.q[0], f.k[0]) && agree(f.q[0], f.v[0]) && agree(f.k[0], f.v[0]) && agree(f.q[1], f.k[1]) &&
          agree(f.q[1], f.v[1]) && agree(f.q[3], f.k[3]) && agree(f.k[2], f.v[2]),
      "expected q, k and v that agree in batch and heads, q and k in depth, k and v in time, got {}, {} and {}",
      to_string(c.input(at)), to_string(c.input(at + 1)), to_string(c.input(at + 2)));
  BELFRY_CHECK(!c.attributes().flag("causal") || agree(f.q[2], f.k[2]),
               "expected as many queries as keys with .causal, got {} and {}. Use .mask", f.q[2], f.k[2]);
  return f;
}

void check_mask(const ShapeContext& c, int at, const Forms& f) {
  if (c.inputs() <= at) return;
  const Shape scores{f.q[0], f.q[1], f.q[2], f.k[2]};
  const Shape& mask = c.input(at);
  BELFRY_CHECK(c.dtype(at) == boolean || c.dtype(at) == c.dtype(0), "expected a mask of type bool or {}, got {}",
               name_of(c.dtype(0)), name_of(c.dtype(at)));
  bool fits = mask.rank() <= 4;
  for (int i = -1; fits && i >= -mask.rank(); --i)
    fits = mask[i] == scores[i] || mask[i] == 1 || mask[i] == kAny || scores[i] == kAny;
  BELFRY_CHECK(fits, "expected a mask that broadcasts to [batch, heads, queries, keys] = {}, got {}", to_string(scores),
               to_string(mask));
}

AttentionOptions options_of(const Attributes& attributes) {
  return {.causal = attributes.flag("causal"),
          .scale = attributes.get<double>("scale"),
          .heads = attributes.integer("heads")};
}

// Of {q, k, v, a mask if it has a gradient}; a mask that has none is given.
Composite composite(const Attributes& attributes, const Tensor& mask) {
  return [options = options_of(attributes), mask](const Tensors& in) {
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
                                           const Forms f = check_inputs(c, 0);
                                           check_mask(c, 3, f);
                                           Shape y = c.input(0);
                                           y.set(-1, c.input(2)[-1]);
                                           return Shapes{y, f.q.slice(0, 3)};
                                         })
                                         .gradient(attention_grad)
                                         .doc("Scaled dot-product attention of queries to keys and their values.");

// The probabilities p are made once more, from lse. With dp = dy v':
//   ds = p (dp - sum(dy y)) scale,  dq = ds k,  dk = ds' q,  dv = p' dy
// y and lse are those of q, k and v: a gradient with respect to them goes there.
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
          check_mask(c, 6, check_inputs(c, 1));
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
  // Runs only if somebody asks for the gradient of a mask.
  if (c.inputs() > 3 && is_float(c.input(3).dtype()))
    out[3] = composite_gradients(composite(c.attributes(), {}), {c.input(0), c.input(1), c.input(2), c.input(3)},
                                 c.grad(0))[3];
  return out;
}

double scale_of(const Operand& q, const AttentionOptions& options) {
  if (options.scale != 0) return options.scale;
  const Tensor t = q.tensor();
  const std::int64_t last = t.rank() > 0 ? t.shape()[-1] : kAny;
  BELFRY_CHECK(last != kAny,
               "[attention] expected a known depth, from which the scale follows, got '{}' {} (made at {}). Give "
               ".scale.",
               t.name(), to_string(t.shape()), to_string(current_location(q.where())));
  return 1 / std::sqrt(std::max(
                 1.0, static_cast<double>(last) / static_cast<double>(std::max<std::int64_t>(1, options.heads))));
}

}  // namespace

Tensor attention(const Operand& q, const Operand& k, const Operand& v, const AttentionOptions& options,
                 std::string_view name) {
  std::vector<Operand> inputs{q, k, v};
  if (options.mask) inputs.emplace_back(options.mask);
  return add_tensor(
      attention_def, inputs,
      {.name = name,
       .attributes = {{"causal", options.causal}, {"scale", scale_of(q, options)}, {"heads", options.heads}}});
}

Tensor attention_by_parts(const Operand& q, const Operand& k, const Operand& v, const AttentionOptions& options,
                          const std::function<Tensor(const Tensor&)>& on_probabilities, std::string_view name) {
  const bool joined = q.tensor().rank() == 3;
  const auto apart = [&](const Operand& x) { return joined ? split_heads(x, options.heads) : x.tensor(); };
  Tensor scores = matmul(apart(q), apart(k), {.transpose_b = true}) * scale_of(q, options);
  const Tensor& mask = options.mask;
  if (mask && is_float(mask.dtype())) scores = scores + mask;
  Tensor allowed;  // 1 where a query may attend
  if (options.causal) allowed = band_part(ones_like(scores), -1, 0);
  if (mask && mask.dtype() == boolean) {
    const Tensor may = cast(mask, scores.dtype());
    allowed = allowed ? allowed * may : may;
  }
  Tensor p = softmax(allowed ? select(greater(allowed, 0.f), scores, -1e30f) : scores);
  if (allowed) p = p * allowed;  // of no use but to a query that may attend to nothing
  if (on_probabilities) p = on_probabilities(p);
  const Tensor y = matmul(p, apart(v), joined ? "" : name);
  return joined ? merge_heads(y, name) : y;
}

}  // namespace belfry
