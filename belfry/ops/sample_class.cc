// Draws from some of the classes of logits, made of simpler ops.
#include <limits>

#include "belfry/base/check.h"
#include "belfry/graph/location.h"
#include "belfry/ops/array_ops.h"
#include "belfry/ops/cumsum.h"
#include "belfry/ops/pointwise.h"
#include "belfry/ops/reduce.h"
#include "belfry/ops/sampling.h"
#include "belfry/ops/softmax.h"
#include "belfry/ops/sort.h"
#include "belfry/ops/top_k.h"

namespace belfry {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();
constexpr float kTiny = 1e-30f;  // replaces a 0 that is fed, so that only the largest logit counts

bool is_number(const Operand& x, double number) { return x.is_number() && x.number() == number; }

void check_options(const Tensor& logits, const SampleOptions& o, const Location& where) {
  const std::int64_t classes = logits.rank() > 0 ? logits.shape()[-1] : 0;
  BELFRY_CHECK(o.top_k >= 0 && (classes == kAny || o.top_k <= classes),
               "[sample_class] expected .top_k in [0, {}], the number of classes, got {} (at {})",
               classes == kAny ? "?" : std::to_string(classes), o.top_k, to_string(where));
  BELFRY_CHECK(!o.temperature.is_number() || o.temperature.number() >= 0,
               "[sample_class] expected a .temperature of 0 or more, got {} (at {})", o.temperature.number(),
               to_string(where));
  BELFRY_CHECK(!o.top_p.is_number() || (o.top_p.number() > 0 && o.top_p.number() <= 1),
               "[sample_class] expected .top_p in (0, 1], got {} (at {})", o.top_p.number(), to_string(where));
  for (const Operand* scalar : {&o.temperature, &o.top_p})
    BELFRY_CHECK(scalar->is_number() || (scalar->tensor().rank() == 0 && scalar->tensor().dtype() == logits.dtype()),
                 "[sample_class] expected .temperature and .top_p that are scalars of {}, got {} (at {}). Use cast().",
                 name_of(logits.dtype()), to_string(scalar->tensor()), to_string(where));
}

Tensor at_least(const Tensor& logits, const Tensor& least) { return select(logits >= least, logits, kNever); }

// The smallest of the k largest.
Tensor least_of_top_k(const Tensor& logits, std::int64_t k) {
  return reduce_min(top_k(logits, k).values, {.axes = {-1}, .keep_dims = true});
}

// The smallest of those before which the larger ones add up to a probability below p.
Tensor least_of_top_p(const Tensor& logits, const Operand& p) {
  const Tensor sorted = sort(logits, -1, SortOrder::descending);
  const Tensor before = cumsum(softmax(sorted), -1, {.exclusive = true});
  const Tensor kept = select(before < (p.is_number() ? p : Operand(maximum(p, kTiny))), sorted, -kNever);
  return reduce_min(kept, {.axes = {-1}, .keep_dims = true});
}

}  // namespace

Tensor sample_class(const Operand& given, const SampleOptions& o, std::string_view name) {
  const LocationScope location(given.where());
  Tensor logits = given.tensor();
  check_options(logits, o, given.where());
  if (is_number(o.temperature, 0)) return argmax(logits, -1, name);
  if (!o.temperature.is_number())
    logits = (logits - reduce_max(logits, {.axes = {-1}, .keep_dims = true})) / maximum(o.temperature, kTiny);
  else if (o.temperature.number() != 1)
    logits = logits / o.temperature;
  if (o.top_k > 0) logits = at_least(logits, least_of_top_k(logits, o.top_k));
  if (!is_number(o.top_p, 1)) logits = at_least(logits, least_of_top_p(logits, o.top_p));
  return squeeze(categorical(logits, 1), {-1}, name);
}

}  // namespace belfry
