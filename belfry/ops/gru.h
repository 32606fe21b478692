// Gated recurrent units over a whole sequence, and one step of them.
//
// With the gates r, z, n side by side in the columns of the weights, in PyTorch's order, and
//   a = x_t w_x + b,  s = h_{t-1} w_h + b_h:
//   r = sigmoid(a_r + s_r), z = sigmoid(a_z + s_z), n = tanh(a_n + r s_n);  h_t = (1 - z) n + z h_{t-1}
//
// The inputs of all steps are projected in one product; only the product with h_{t-1} is made step by step.
// Gradients are of first order: asking for the gradient of a gradient is an error.
#pragma once

#include <string_view>

#include "belfry/graph/tensor.h"

#pragma GCC visibility push(default)
namespace belfry {

struct GruWeights {
  Tensor w_x{};  // [features, 3 units]
  Tensor w_h{};  // [units, 3 units]
  Tensor b{};    // [3 units]; optional
  Tensor b_h{};  // [3 units]; optional
};

struct GruOptions {
  // [batch], i32 or i64: row k takes the first lengths[k] steps. After these, its outputs are 0 and its state does not
  // change. A length outside [0, time] ends the run with a NumericError.
  Tensor lengths{};
};

struct GruResult {
  Tensor h{};     // of every step: [time, batch, units]
  Tensor last{};  // after the last step of each row: [batch, units]
};

// x [time, batch, features], of which features must be known; initial [batch, units], zeros by default.
GruResult gru(const Operand& x, const GruWeights& weights, const Tensor& initial = {}, const GruOptions& options = {},
              std::string_view name = "");

// One step: x [batch, features].
Tensor gru_cell(const Operand& x, const GruWeights& weights, const Tensor& state, std::string_view name = "");

}  // namespace belfry
#pragma GCC visibility pop
