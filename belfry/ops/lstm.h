// Long short-term memory over a whole sequence, and one step of it.
//
// With the gates i, f, g, o side by side in the columns of the weights, in PyTorch's order:
//   [a_i a_f a_g a_o] = x_t w_x + h_{t-1} w_h + b
//   c_t = sigmoid(a_f) c_{t-1} + sigmoid(a_i) tanh(a_g);  h_t = sigmoid(a_o) tanh(c_t)
//
// The inputs of all steps are projected in one product; only the product with h_{t-1} is made step by step.
// Gradients are of first order: asking for the gradient of a gradient is an error.
#pragma once

#include <string_view>

#include "belfry/graph/tensor.h"

#pragma GCC visibility push(default)
namespace belfry {

struct LstmWeights {
  Tensor w_x{};  // [features, 4 units]
  Tensor w_h{};  // [units, 4 units]
  Tensor b{};    // [4 units]; optional
};

struct LstmState {
  Tensor h{}, c{};  // [batch, units]; zeros if both are empty
};

struct LstmOptions {
  // [batch], i32 or i64: row k takes the first lengths[k] steps. After these, its outputs are 0 and its state does not
  // change. A length outside [0, time] ends the run with a NumericError.
  Tensor lengths{};
};

struct LstmResult {
  Tensor h{};        // of every step: [time, batch, units]
  LstmState last{};  // after the last step of each row
};

// x [time, batch, features], of which features must be known.
LstmResult lstm(const Operand& x, const LstmWeights& weights, const LstmState& initial = {},
                const LstmOptions& options = {}, std::string_view name = "");

// One step: x [batch, features].
LstmState lstm_cell(const Operand& x, const LstmWeights& weights, const LstmState& state, std::string_view name = "");

}  // namespace belfry
#pragma GCC visibility pop
