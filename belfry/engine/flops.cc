#include "belfry/engine/flops.h"

#include <algorithm>

namespace belfry {
namespace {

double elements(const Shape& shape) { return static_cast<double>(shape.elements()); }

// Every output pixel of the forward pass meets every weight once: 2 * (pixels of `result`) * (elements of the filter).
double conv_flops(const Shape& weights, const Shape& result) {
  return weights.rank() == 4 ? 2.0 * elements(result) * elements(weights) / static_cast<double>(weights[3]) : 0;
}

}  // namespace

double no_flops(const Work&) { return 0; }
double conv_flops(const Work& work) { return conv_flops(work.inputs[1], work.outputs[0]); }
double conv_transpose_flops(const Work& work) { return conv_flops(work.inputs[1], work.inputs[0]); }
double conv_input_flops(const Work& work) { return conv_flops(work.inputs[1], work.inputs[2]); }
double conv_filter_flops(const Work& work) { return conv_flops(work.outputs[0], work.inputs[2]); }

double matmul_flops(const Work& work) {
  const auto inner = static_cast<double>(work.inputs[0][work.attributes.flag("transpose_a") ? -2 : -1]);
  return 2.0 * inner * elements(work.outputs[0]);
}

// The state of every step, [batch, units], times w_h, [units, gates].
double recurrent_flops(const Work& work) {
  return 2.0 * elements(work.outputs[0]) * static_cast<double>(work.inputs[2][1]);
}

// Every query, [.., time, depth], meets every key and every value.
double attention_flops(const Work& work) {
  return 2.0 * (elements(work.inputs[0]) + elements(work.outputs[0])) * static_cast<double>(work.inputs[1][-2]);
}

double one_an_element(const Work& work) {
  double most = 0;
  for (const Shape& shape : work.outputs) most = std::max(most, elements(shape));
  return most;
}

}  // namespace belfry
