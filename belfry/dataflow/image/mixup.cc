#include "belfry/dataflow/image/mixup.h"

#include <immintrin.h>

#include <cmath>
#include <numeric>

#include "belfry/base/check.h"
#include "belfry/base/random.h"
#include "belfry/dataflow/internal/map_as.h"
#include "belfry/dataflow/internal/permute.h"

namespace belfry {
namespace {

// The logarithm of a number from Gamma(alpha, 1): Marsaglia and Tsang's method for alpha + 1, times a power of a
// uniform number that corrects for the 1. The logarithm, because small alphas give numbers below the smallest double.
double log_gamma_variate(double alpha, RandomStream& random) {
  const double d = alpha + 1 - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = random.normal(), v = std::pow(1 + c * x, 3);
    if (v <= 0) continue;
    if (std::log(1 - random.uniform()) < 0.5 * x * x + d - d * v + d * std::log(v))
      return std::log(d * v) + std::log(1 - random.uniform()) / alpha;
  }
}

double beta_variate(double alpha, RandomStream& random) {
  if (alpha == 0) return 1;
  const double a = log_gamma_variate(alpha, random), b = log_gamma_variate(alpha, random);
  return 1 / (1 + std::exp(b - a));
}

Array one_hot(const Array& labels, std::int64_t classes) {
  BELFRY_CHECK(classes > 0, "[mixup] expected the number of classes, as labels are i32, got {}. Give .classes.",
               classes);
  Array made = Array::zeros(f32, {labels.elements(), classes});
  float* row = made.values<float>().data();
  for (const std::int32_t label : labels.values<std::int32_t>()) {
    BELFRY_CHECK(label >= 0 && label < classes, "[mixup] expected labels from 0 to {}, got {}.", classes - 1, label);
    row[label] = 1;
    row += classes;
  }
  return made;
}

Array as_one_hot(const Array& labels, const MixupOptions& options) {
  if (labels.dtype() == i32 && labels.shape().rank() == 1) return one_hot(labels, options.classes);
  const bool mixed = labels.dtype() == f32 && labels.shape().rank() == 2 &&
                     (options.classes == 0 || labels.shape()[1] == options.classes);
  BELFRY_CHECK(mixed, "[mixup] expected labels i32 [n] or f32 [n, classes], got {} {}{}.", name_of(labels.dtype()),
               to_string(labels.shape()),
               options.classes > 0 ? fmt::format(" for {} classes", options.classes) : std::string());
  return labels;
}

// lambda * first + (1 - lambda) * second
void mix(const float* first, const float* second, double lambda, float* to, std::int64_t count) {
  const auto weight = static_cast<float>(lambda), rest = static_cast<float>(1 - lambda);
  const __m256 w = _mm256_set1_ps(weight), r = _mm256_set1_ps(rest);
  std::int64_t i = 0;
  for (; i + 8 <= count; i += 8)
    _mm256_storeu_ps(to + i,
                     _mm256_fmadd_ps(_mm256_loadu_ps(first + i), w, _mm256_mul_ps(_mm256_loadu_ps(second + i), r)));
  // std::fma: a value comes out the same wherever it is.
  for (; i < count; ++i) to[i] = std::fma(first[i], weight, second[i] * rest);
}

// Row i becomes lambda * row i + (1 - lambda) * row partner[i].
Array mix_rows(const Array& batch, const std::vector<std::int64_t>& partner, double lambda) {
  Array made(f32, batch.shape());
  const auto rows = static_cast<std::int64_t>(partner.size());
  if (batch.elements() == 0) return made;
  const std::int64_t columns = batch.elements() / rows;
  const float* from = batch.values<float>().data();
  float* to = made.values<float>().data();
  for (std::int64_t i = 0; i < rows; ++i)
    mix(from + i * columns, from + partner[static_cast<std::size_t>(i)] * columns, lambda, to + i * columns, columns);
  return made;
}

DataPoint mixed(DataPoint point, const MixupOptions& options, RandomStream& random) {
  check_component("mixup", point, options.image);
  check_component("mixup", point, options.label);
  Array& images = point[options.image];
  Array& labels = point[options.label];
  BELFRY_CHECK(
      images.dtype() == f32 && images.shape().rank() >= 1,
      "[mixup] expected a batch of images, f32 [n, ...], got {} {}. Put to_float() or normalize(), and batch(), "
      "before it.",
      name_of(images.dtype()), to_string(images.shape()));
  const Array weights = as_one_hot(labels, options);
  BELFRY_CHECK(weights.shape()[0] == images.shape()[0], "[mixup] expected as many labels as images, got {} and {}.",
               weights.shape()[0], images.shape()[0]);
  const double lambda = beta_variate(options.alpha, random);
  std::vector<std::int64_t> partner(static_cast<std::size_t>(images.shape()[0]));
  std::iota(partner.begin(), partner.end(), 0);
  permute(partner, random.bits());
  images = mix_rows(images, partner, lambda);
  labels = mix_rows(weights, partner, lambda);
  return point;
}

}  // namespace

FlowStage mixup(MixupOptions options) {
  BELFRY_CHECK(options.alpha >= 0 && std::isfinite(options.alpha), "[mixup] expected an alpha of 0 or more, got {}.",
               options.alpha);
  BELFRY_CHECK(options.classes >= 0, "[mixup] expected 0 or more classes, got {}.", options.classes);
  return map_as(
      "mixup", [options](DataPoint point, RandomStream& random) { return mixed(std::move(point), options, random); },
      {.seed = options.seed, .threads = options.threads, .ordered = options.ordered, .buffer = options.buffer});
}

}  // namespace belfry
