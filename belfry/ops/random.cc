#include "belfry/ops/random.h"

#include <cmath>

#include "belfry/base/check.h"
#include "belfry/graph/graph.h"
#include "belfry/ops/input_checks.h"

namespace belfry {
namespace {

std::vector<DType> type_rule(const ShapeContext& c) { return {c.attributes().get<DType>("dtype")}; }

Shape random_shape(const ShapeContext& c) {
  const Shape& shape = c.attributes().get<Shape>("shape");
  BELFRY_CHECK(shape.is_concrete(), "expected a shape that is fully known, got {}", to_string(shape));
  const DType dtype = c.attributes().get<DType>("dtype");
  BELFRY_CHECK(is_float(dtype), "expected a floating type, got {}. Use cast()", name_of(dtype));
  return shape;
}

Shapes normal_rule(const ShapeContext& c) {
  const double mean = c.attributes().get<double>("mean"), stddev = c.attributes().get<double>("stddev");
  BELFRY_CHECK(std::isfinite(mean) && std::isfinite(stddev) && stddev >= 0,
               "expected a finite mean and a deviation from 0 up, got {} and {}", mean, stddev);
  return random_shape(c);
}

const OpRegistration uniform_def =
    define_op("RandomUniform")
        .output("y")
        .random()
        .dtype(type_rule)
        .not_differentiable()
        .shape([](const ShapeContext& c) {
          const double low = c.attributes().get<double>("low"), high = c.attributes().get<double>("high");
          BELFRY_CHECK(std::isfinite(low) && std::isfinite(high) && low <= high,
                       "expected finite bounds with low <= high, got {} and {}", low, high);
          return random_shape(c);
        })
        .doc("Values evenly distributed over [low, high).");

const OpRegistration normal_def = define_op("RandomNormal")
                                      .output("y")
                                      .random()
                                      .dtype(type_rule)
                                      .shape(normal_rule)
                                      .not_differentiable()
                                      .doc("Normally distributed values.");

const OpRegistration truncated_normal_def = define_op("TruncatedNormal")
                                                .output("y")
                                                .random()
                                                .dtype(type_rule)
                                                .shape(normal_rule)
                                                .not_differentiable()
                                                .doc("Normally distributed values within two deviations of the mean.");

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

Attributes normal_attributes(const Shape& shape, const NormalOptions& options) {
  Attributes out{{"shape", shape}, {"dtype", options.dtype}, {"mean", options.mean}, {"stddev", options.stddev}};
  if (options.seed) out.set("seed", *options.seed);
  return out;
}

}  // namespace

Tensor random_uniform(const Shape& shape, const UniformOptions& options, std::string_view name, const Location& where) {
  const LocationScope location(where);
  Attributes attributes{{"shape", shape}, {"dtype", options.dtype}, {"low", options.low}, {"high", options.high}};
  return add_tensor(uniform_def, {}, {.name = name, .attributes = std::move(attributes)});
}
Tensor random_normal(const Shape& shape, const NormalOptions& options, std::string_view name, const Location& where) {
  const LocationScope location(where);
  return add_tensor(normal_def, {}, {.name = name, .attributes = normal_attributes(shape, options)});
}
Tensor truncated_normal(const Shape& shape, const NormalOptions& options, std::string_view name,
                        const Location& where) {
  const LocationScope location(where);
  return add_tensor(truncated_normal_def, {}, {.name = name, .attributes = normal_attributes(shape, options)});
}

Tensor dropout(const Operand& x, double rate, std::string_view name) {
  return add_tensor(dropout_def, {x}, {.name = name, .attributes = {{"rate", rate}}});
}

}  // namespace belfry
