// Initial values of variables: `.kernel_initializer = init::he_normal()`. If none is given, get_variable() uses its
// scope's, otherwise glorot_uniform for weights and zeros for the rest.
#pragma once

#include <cstdint>

#include "belfry/graph/variable.h"
#include "belfry/ops/random.h"

#pragma GCC visibility push(default)
namespace belfry::init {

Initializer zeros();
Initializer ones();
Initializer constant(double value);

// Values of the variable's type; the options' dtype is ignored.
Initializer uniform(const UniformOptions& options);  // {.low = -0.1, .high = 0.1}
Initializer normal(const NormalOptions& options);    // {.stddev = 0.01}
Initializer truncated_normal(const NormalOptions& options);

// Random with variance scale / n, where n is the number of inputs of a unit, that of its outputs, or their average.
// Shapes are [..., in, out]; the leading dimensions are a filter's window.
enum class Fan : std::uint8_t { in, out, average };
// The truncated normal has that variance after truncation.
enum class Distribution : std::uint8_t { uniform, normal, truncated_normal };
struct VarianceScaling {
  double scale = 1;
  Fan fan = Fan::in;
  Distribution distribution = Distribution::truncated_normal;
};
Initializer variance_scaling(const VarianceScaling& options = {});

Initializer glorot_uniform();  // scale 1, average: Glorot and Bengio 2010
Initializer glorot_normal();
Initializer he_uniform();  // scale 2, inputs: He et al. 2015, for relu
Initializer he_normal();

}  // namespace belfry::init
#pragma GCC visibility pop
