#include "belfry/ops/internal/recurrent_ops.h"

#include "belfry/base/check.h"
#include "belfry/graph/node.h"
#include "belfry/ops/array_ops.h"
#include "belfry/ops/internal/input_checks.h"
#include "belfry/ops/pointwise.h"
#include "belfry/ops/reduce.h"

namespace belfry {

Tensor flatten_steps(const Operand& x, const char* op) {
  const Tensor t = x.tensor();
  BELFRY_CHECK(t.rank() == 3 && t.shape()[2] != kAny,
               "[{}] expected x of shape [time, batch, features] with known features, got {} (at {})", op, to_string(t),
               to_string(current_location(x.where())));
  return reshape(x, {kAny, t.shape()[2]});
}

Tensor zero_state(const Tensor& x, const Tensor& w_h) {
  const Tensor batch = reduce_sum(x, {.axes = {0, 2}}), units = reduce_sum(w_h, {.axes = {1}});
  return zeros_like(expand_dims(batch, 1) + units);
}

SequenceSizes sequence_sizes(const ShapeContext& c, int x_input, int w_h_input, int gates) {
  const Shape &x = c.input(x_input), &w_h = c.input(w_h_input);
  BELFRY_CHECK(x.rank() == 3, "expected x of shape [time, batch, features], got {}", to_string(x));
  BELFRY_CHECK(w_h.rank() == 2 && (w_h[0] == kAny || w_h[1] == kAny || w_h[1] == gates * w_h[0]),
               "expected w_h of shape [units, {} units], got {}", gates, to_string(w_h));
  const std::int64_t units = w_h[0] != kAny ? w_h[0] : w_h[1] != kAny ? w_h[1] / gates : kAny;
  return {.rows = x[0] == kAny || x[1] == kAny ? kAny : x[0] * x[1],
          .batch = x[1],
          .units = units,
          .gates = units == kAny ? kAny : gates * units};
}

void check_float_types(const ShapeContext& c, std::initializer_list<int> inputs) {
  for (int i : inputs)
    BELFRY_CHECK(is_float(c.dtype(i)) && c.dtype(i) == c.dtype(0),
                 "expected inputs of one floating type, got {} and {}. Use cast()", name_of(c.dtype(0)),
                 name_of(c.dtype(i)));
}

Tensor grad_or_zeros(const GradientContext& c, int output) {
  return c.has_grad(output) ? c.grad(output) : zeros_like(c.output(output));
}

void check_lengths(const ShapeContext& c, int index, std::int64_t batch) {
  if (c.inputs() <= index) return;
  BELFRY_CHECK(c.inputs() == index + 1, "expected at most one tensor of lengths, got {}", c.inputs() - index);
  check_label_type(c, index, "lengths");
  check_shape(c, index, "lengths", {batch});
}

void fail_second_order(const GradientContext& c, const char* op) {
  fail(
      "{} expected gradients of first order, got the gradient of a gradient of {} {}. Write the step out in matmul(), "
      "sigmoid() and tanh() if a higher order is needed.",
      describe(*c.node()), op, made_at(*c.node()));
}

}  // namespace belfry
