#include "belfry/nn/initializers.h"

#include <algorithm>
#include <cmath>

#include "belfry/base/check.h"
#include "belfry/ops/basic.h"

namespace belfry::init {
namespace {

// The standard deviation of a standard normal that is truncated at two standard deviations.
constexpr double kTruncatedStddev = 0.87962566103423978;

double fan_of(const Shape& shape, Fan fan) {
  if (shape.rank() < 2) return static_cast<double>(std::max<std::int64_t>(shape.elements(), 1));
  const double window = static_cast<double>(shape.slice(0, shape.rank() - 2).elements());
  const double in = window * static_cast<double>(shape[-2]), out = window * static_cast<double>(shape[-1]);
  return std::max(fan == Fan::in ? in : fan == Fan::out ? out : (in + out) / 2, 1.0);
}

}  // namespace

Initializer constant(double value) {
  return [value](const Shape& shape, DType dtype) { return fill(shape, value, dtype); };
}
Initializer zeros() { return constant(0); }
Initializer ones() { return constant(1); }

Initializer uniform(const UniformOptions& o) {
  return [o](const Shape& shape, DType dtype) {
    return random_uniform(shape, {.low = o.low, .high = o.high, .dtype = dtype});
  };
}
Initializer normal(const NormalOptions& o) {
  return [o](const Shape& shape, DType dtype) {
    return random_normal(shape, {.mean = o.mean, .stddev = o.stddev, .dtype = dtype});
  };
}
Initializer truncated_normal(const NormalOptions& o) {
  return [o](const Shape& shape, DType dtype) {
    return belfry::truncated_normal(shape, {.mean = o.mean, .stddev = o.stddev, .dtype = dtype});
  };
}

Initializer variance_scaling(const VarianceScaling& o) {
  BELFRY_CHECK(o.scale > 0 && std::isfinite(o.scale), "[variance_scaling] expected a scale above 0, got {}", o.scale);
  return [o](const Shape& shape, DType dtype) {
    const double stddev = std::sqrt(o.scale / fan_of(shape, o.fan));
    switch (o.distribution) {
      case Distribution::uniform:
        return uniform({.low = -stddev * std::sqrt(3.0), .high = stddev * std::sqrt(3.0)})(shape, dtype);
      case Distribution::normal: return normal({.stddev = stddev})(shape, dtype);
      case Distribution::truncated_normal: break;
    }
    return truncated_normal({.stddev = stddev / kTruncatedStddev})(shape, dtype);
  };
}

Initializer glorot_uniform() {
  return variance_scaling({.scale = 1, .fan = Fan::average, .distribution = Distribution::uniform});
}
Initializer glorot_normal() { return variance_scaling({.scale = 1, .fan = Fan::average}); }
Initializer he_uniform() { return variance_scaling({.scale = 2, .distribution = Distribution::uniform}); }
Initializer he_normal() { return variance_scaling({.scale = 2}); }

}  // namespace belfry::init
