#include "belfry/ops/lstm.h"

#include "belfry/base/check.h"
#include "belfry/graph/graph.h"
#include "belfry/graph/scope.h"
#include "belfry/ops/array_ops.h"
#include "belfry/ops/internal/input_checks.h"
#include "belfry/ops/internal/recurrent_ops.h"
#include "belfry/ops/matmul.h"
#include "belfry/ops/pointwise.h"

namespace belfry {
namespace {

constexpr int kGates = 4;

Tensors sequence_grad(const GradientContext& c);

// The sums that come from x are given; see lstm.h for the formulas. Outputs from `activations` on are kept for the
// gradient: the gates after sigmoid and tanh, h before each step, c after it.
const OpRegistration sequence_def =
    define_op("LstmSequence")
        .input("gates")
        .input("x")
        .input("w_h")
        .input("h0")
        .input("c0")
        .inputs("lengths")
        .output("h")
        .output("h_last")
        .output("c_last")
        .output("activations")
        .output("previous")
        .output("c")
        .shape_only(1)
        .shape([](const ShapeContext& c) {
          const SequenceSizes s = sequence_sizes(c, 1, 2, kGates);
          check_float_types(c, {0, 2, 3, 4});
          check_shape(c, 0, "gates", {s.rows, s.gates});
          const Shape state{s.batch, s.units}, all{s.rows, s.units};
          check_shape(c, 3, "h0", state);
          check_shape(c, 4, "c0", state);
          check_lengths(c, 5, s.batch);
          return Shapes{Shape{c.input(1)[0], s.batch, s.units}, state, state, {s.rows, s.gates}, all, all};
        })
        .gradient(sequence_grad)
        .doc("An LSTM over a sequence whose inputs are projected already.");

const OpRegistration sequence_grad_def =
    define_op("LstmSequenceGrad")
        .input("x")
        .input("w_h")
        .input("c0")
        .input("activations")
        .input("c")
        .input("dh")
        .input("dh_last")
        .input("dc_last")
        .inputs("lengths")
        .output("dgates")
        .output("dh0")
        .output("dc0")
        .shape_only(0)
        .shape([](const ShapeContext& c) {
          const SequenceSizes s = sequence_sizes(c, 0, 1, kGates);
          const Shape state{s.batch, s.units}, all{s.rows, s.units};
          check_shape(c, 2, "c0", state);
          check_shape(c, 3, "activations", {s.rows, s.gates});
          check_shape(c, 4, "c", all);
          check_shape(c, 5, "dh", {c.input(0)[0], s.batch, s.units});
          check_shape(c, 6, "dh_last", state);
          check_shape(c, 7, "dc_last", state);
          check_lengths(c, 8, s.batch);
          return Shapes{Shape{s.rows, s.gates}, state, state};
        })
        .dtype([](const ShapeContext& c) { return std::vector<DType>(3, c.dtype(1)); })
        .gradient([](const GradientContext& c) -> Tensors { fail_second_order(c, "LstmSequence"); })
        .doc("The gradient of LstmSequence, from its last step to its first.");

Tensors sequence_grad(const GradientContext& c) {
  const Tensor x = c.input(1), w_h = c.input(2), c0 = c.input(4);
  std::vector<Operand> inputs{
      x, w_h, c0, c.output(3), c.output(5), grad_or_zeros(c, 0), grad_or_zeros(c, 1), grad_or_zeros(c, 2)};
  if (c.inputs() > 5) inputs.emplace_back(c.input(5));
  Node* node = add_op(sequence_grad_def, inputs);
  const Tensor dgates(node, 0);
  Tensors out{dgates, Tensor(), matmul(c.output(4), dgates, {.transpose_a = true}), {node, 1}, {node, 2}};
  out.resize(static_cast<std::size_t>(c.inputs()));
  return out;
}

void check_weights(const LstmWeights& w, const LstmState& state, const char* op, const Location& where) {
  BELFRY_CHECK(w.w_x && w.w_h, "[{}] expected weights w_x and w_h, got an empty tensor (at {})", op, to_string(where));
  BELFRY_CHECK(static_cast<bool>(state.h) == static_cast<bool>(state.c),
               "[{}] expected a state of h and c or neither, got only {} (at {})", op, state.h ? "h" : "c",
               to_string(where));
}

}  // namespace

LstmResult lstm(const Operand& x, const LstmWeights& weights, const LstmState& initial, const LstmOptions& options,
                std::string_view name) {
  const Location where = current_location(x.where());
  const LocationScope location(where);
  check_weights(weights, initial, "lstm", where);
  const NameScope scope(name.empty() ? "lstm" : name);
  Tensor gates = matmul(flatten_steps(x, "lstm"), weights.w_x);
  if (weights.b) gates = gates + weights.b;
  const Tensor zeros = initial.h ? Tensor() : zero_state(x.tensor(), weights.w_h);
  std::vector<Operand> inputs{gates, x, weights.w_h, initial.h ? initial.h : zeros, initial.c ? initial.c : zeros};
  if (options.lengths) inputs.emplace_back(options.lengths);
  Node* node = add_op(sequence_def, inputs);
  return {{node, 0}, {{node, 1}, {node, 2}}};
}

LstmState lstm_cell(const Operand& x, const LstmWeights& weights, const LstmState& state, std::string_view name) {
  const Location where = current_location(x.where());
  const LocationScope location(where);
  BELFRY_CHECK(x.tensor().rank() == 2, "[lstm_cell] expected x of shape [batch, features], got {} (at {})",
               to_string(x.tensor()), to_string(where));
  return lstm(expand_dims(x, 0), weights, state, {}, name.empty() ? "lstm_cell" : name).last;
}

}  // namespace belfry
