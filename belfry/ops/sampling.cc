#include "belfry/ops/sampling.h"

#include "belfry/base/check.h"
#include "belfry/graph/graph.h"
#include "belfry/ops/array_ops.h"
#include "belfry/ops/internal/input_checks.h"
#include "belfry/ops/scatter_nd.h"

namespace belfry {
namespace {

const OpRegistration bernoulli_def =
    define_op("Bernoulli")
        .input("probabilities")
        .output("y")
        .random()
        .dtype([](const ShapeContext& c) { return std::vector{c.attributes().get<DType>("dtype")}; })
        .shape([](const ShapeContext& c) {
          check_float(c, 0, "probabilities");
          return c.input(0);
        })
        .not_differentiable()
        .doc("1 with a given probability, else 0.");

const OpRegistration categorical_def =
    define_op("Categorical")
        .input("logits")
        .output("classes")
        .random()
        .dtype(i64)
        .shape([](const ShapeContext& c) {
          check_float(c, 0, "logits");
          const std::int64_t samples = c.attributes().integer("samples");
          BELFRY_CHECK(c.input(0).rank() >= 1 && c.input(0)[-1] != 0,
                       "expected logits of shape [..., classes] with at least one class, got {}",
                       to_string(c.input(0)));
          BELFRY_CHECK(samples >= 0, "expected 0 samples or more, got {}", samples);
          Shape out = c.input(0);
          out.set(-1, samples);
          return out;
        })
        .not_differentiable()
        .doc("Classes drawn with the probabilities that softmax gives to logits.");

const OpRegistration permutation_def =
    define_op("RandomPermutation")
        .input("x")
        .output("indices")
        .shape_only(0)
        .random()
        .dtype(i64)
        .shape([](const ShapeContext& c) {
          BELFRY_CHECK(c.input(0).rank() >= 1, "expected a tensor of rank 1 or more, got a scalar");
          return Shape{c.input(0)[0]};
        })
        .not_differentiable()
        .doc("The indices of x's first axis in random order.");

}  // namespace

Tensor bernoulli(const Operand& probabilities, const BernoulliOptions& options, std::string_view name) {
  return add_tensor(bernoulli_def, {probabilities}, {.name = name, .attributes = {{"dtype", options.dtype}}});
}

Tensor categorical(const Operand& logits, std::int64_t samples, std::string_view name) {
  return add_tensor(categorical_def, {logits}, {.name = name, .attributes = {{"samples", samples}}});
}

Tensor random_shuffle(const Operand& x, std::string_view name) {
  const LocationScope location(x.where());
  return gather_nd(x, expand_dims(add_tensor(permutation_def, {x}), -1), name);
}

}  // namespace belfry
