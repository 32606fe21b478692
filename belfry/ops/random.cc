#include "belfry/ops/random.h"

#include <cmath>

#include "belfry/base/check.h"
#include "belfry/graph/graph.h"
#include "belfry/ops/internal/input_checks.h"
#include "belfry/ops/internal/of_shape.h"

namespace belfry {
namespace {

std::vector<DType> type_rule(const ShapeContext& c) { return {c.attributes().get<DType>("dtype")}; }

// For an op with a "like" that gives the shape, or one with a fixed shape.
Shape random_shape(const ShapeContext& c) {
  const DType dtype = c.attributes().get<DType>("dtype");
  BELFRY_CHECK(is_float(dtype), "expected a floating type, got {}. Use cast()", name_of(dtype));
  if (c.inputs() > 0) return c.input(0);
  const Shape& shape = c.attributes().get<Shape>("shape");
  BELFRY_CHECK(shape.is_concrete(),
               "expected a shape that is fully known, got {}. Take what is unknown from a tensor: shape_of(x), or "
               "{{size_of(x, 0), ...}}",
               to_string(shape));
  return shape;
}

Shapes normal_rule(const ShapeContext& c) {
  const double mean = c.attributes().get<double>("mean"), stddev = c.attributes().get<double>("stddev");
  BELFRY_CHECK(std::isfinite(mean) && std::isfinite(stddev) && stddev >= 0,
               "expected a finite mean and a deviation from 0 up, got {} and {}", mean, stddev);
  return random_shape(c);
}

Shapes uniform_rule(const ShapeContext& c) {
  const double low = c.attributes().get<double>("low"), high = c.attributes().get<double>("high");
  BELFRY_CHECK(std::isfinite(low) && std::isfinite(high) && low <= high,
               "expected finite bounds with low <= high, got {} and {}", low, high);
  return random_shape(c);
}

// A distribution with a fixed shape, and with the shape of another tensor.
struct Distribution {
  OpRegistration fixed, like;
};
Distribution define_distribution(const std::string& name, const ShapeRule& rule, const std::string& doc) {
  const auto common = [&](OpDefinition& op) -> OpDefinition& {
    return op.output("y").random().dtype(type_rule).shape(rule).not_differentiable().doc(doc);
  };
  OpDefinition fixed = define_op(name), like = define_op(name + "Like");
  return {.fixed = common(fixed), .like = common(like.input("like").shape_only(0))};
}

const Distribution uniform =
    define_distribution("RandomUniform", uniform_rule, "Values evenly distributed over [low, high).");
const Distribution normal = define_distribution("RandomNormal", normal_rule, "Normally distributed values.");
const Distribution truncated = define_distribution("TruncatedNormal", normal_rule,
                                                   "Normally distributed values within two deviations of the mean.");

Tensor draw(const Distribution& from, const Sizes& sizes, std::string_view name, Attributes attributes) {
  if (const std::optional<Ints> fixed = sizes.numbers()) {
    attributes.set("shape", Shape(std::span(*fixed)));
    return add_tensor(from.fixed, {}, {.name = name, .attributes = std::move(attributes)});
  }
  return add_tensor(from.like, {of_shape(sizes, from.fixed->name)},
                    {.name = name, .attributes = std::move(attributes)});
}

// The mask is a function of the seed alone, so the gradient is the same op with the same seed.
Tensor dropout_again(const Tensor& dy, const Attributes& attributes);
const OpRegistration dropout_def =
    define_op("Dropout")
        .input("x")
        .output("y")
        .random()
        .shape([](const ShapeContext& c) {
          const double rate = c.attributes().get<double>("rate");
          check_float(c, 0, "x");
          BELFRY_CHECK(rate >= 0 && rate < 1,
                       "expected a rate in [0, 1), got {}. It is the share that is dropped, not kept", rate);
          return c.input(0);
        })
        .gradient([](const GradientContext& c) { return Tensors{dropout_again(c.grad(), c.attributes())}; })
        .doc("Sets a random share of the elements to 0 and scales the rest by 1 / (1 - rate).");
Tensor dropout_again(const Tensor& dy, const Attributes& attributes) {
  return add_tensor(dropout_def, {dy}, {.attributes = attributes});
}

Attributes normal_attributes(const NormalOptions& options) {
  Attributes out{{"dtype", options.dtype}, {"mean", options.mean}, {"stddev", options.stddev}};
  if (options.seed) out.set("seed", *options.seed);
  return out;
}

}  // namespace

Tensor random_uniform(const Sizes& shape, const UniformOptions& options, std::string_view name, const Location& where) {
  const LocationScope location(where);
  return draw(uniform, shape, name, {{"dtype", options.dtype}, {"low", options.low}, {"high", options.high}});
}
Tensor random_normal(const Sizes& shape, const NormalOptions& options, std::string_view name, const Location& where) {
  const LocationScope location(where);
  return draw(normal, shape, name, normal_attributes(options));
}
Tensor truncated_normal(const Sizes& shape, const NormalOptions& options, std::string_view name,
                        const Location& where) {
  const LocationScope location(where);
  return draw(truncated, shape, name, normal_attributes(options));
}

Tensor dropout(const Operand& x, double rate, std::string_view name) {
  return add_tensor(dropout_def, {x}, {.name = name, .attributes = {{"rate", rate}}});
}

}  // namespace belfry
