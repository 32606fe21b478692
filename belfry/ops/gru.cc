#include "belfry/ops/gru.h"

#include "belfry/base/check.h"
#include "belfry/graph/graph.h"
#include "belfry/graph/scope.h"
#include "belfry/ops/array_ops.h"
#include "belfry/ops/broadcast.h"
#include "belfry/ops/internal/input_checks.h"
#include "belfry/ops/internal/recurrent_ops.h"
#include "belfry/ops/matmul.h"
#include "belfry/ops/pointwise.h"
#include "belfry/ops/reduce.h"

namespace belfry {
namespace {

constexpr int kGates = 3;

Tensors sequence_grad(const GradientContext& c);

// The sums that come from x are given; see gru.h for the formulas. Outputs from `activations` on are kept for the
// gradient: the gates after sigmoid and tanh, s_n, and h before each step.
const OpRegistration sequence_def =
    define_op("GruSequence")
        .input("gates")
        .input("x")
        .input("w_h")
        .input("b_h")
        .input("h0")
        .inputs("lengths")
        .output("h")
        .output("h_last")
        .output("activations")
        .output("candidate")
        .output("previous")
        .shape_only(1)
        .shape([](const ShapeContext& c) {
          const SequenceSizes s = sequence_sizes(c, 1, 2, kGates);
          check_float_types(c, {0, 2, 3, 4});
          check_shape(c, 0, "gates", {s.rows, s.gates});
          check_shape(c, 3, "b_h", {s.gates});
          check_shape(c, 4, "h0", {s.batch, s.units});
          check_lengths(c, 5, s.batch);
          const Shape all{s.rows, s.units};
          return Shapes{Shape{c.input(1)[0], s.batch, s.units}, {s.batch, s.units}, {s.rows, s.gates}, all, all};
        })
        .gradient(sequence_grad)
        .doc("Gated recurrent units over a sequence whose inputs are projected already.");

const OpRegistration sequence_grad_def =
    define_op("GruSequenceGrad")
        .input("x")
        .input("w_h")
        .input("activations")
        .input("candidate")
        .input("previous")
        .input("dh")
        .input("dh_last")
        .inputs("lengths")
        .output("dgates")
        .output("dsums")
        .output("dh0")
        .shape_only(0)
        .shape([](const ShapeContext& c) {
          const SequenceSizes s = sequence_sizes(c, 0, 1, kGates);
          const Shape all{s.rows, s.units}, gates{s.rows, s.gates};
          check_shape(c, 2, "activations", gates);
          check_shape(c, 3, "candidate", all);
          check_shape(c, 4, "previous", all);
          check_shape(c, 5, "dh", {c.input(0)[0], s.batch, s.units});
          check_shape(c, 6, "dh_last", {s.batch, s.units});
          check_lengths(c, 7, s.batch);
          return Shapes{gates, gates, {s.batch, s.units}};
        })
        .dtype([](const ShapeContext& c) { return std::vector<DType>(3, c.dtype(1)); })
        .gradient([](const GradientContext& c) -> Tensors { fail_second_order(c, "GruSequence"); })
        .doc("The gradient of GruSequence, from its last step to its first.");

Tensors sequence_grad(const GradientContext& c) {
  const Tensor x = c.input(1), w_h = c.input(2), b_h = c.input(3), previous = c.output(4);
  std::vector<Operand> inputs{x, w_h, c.output(2), c.output(3), previous, grad_or_zeros(c, 0), grad_or_zeros(c, 1)};
  if (c.inputs() > 5) inputs.emplace_back(c.input(5));
  Node* node = add_op(sequence_grad_def, inputs);
  const Tensor dsums(node, 1);
  Tensors out{{node, 0}, Tensor(), matmul(previous, dsums, {.transpose_a = true}), sum_to_like(dsums, b_h), {node, 2}};
  out.resize(static_cast<std::size_t>(c.inputs()));
  return out;
}

}  // namespace

GruResult gru(const Operand& x, const GruWeights& weights, const Tensor& initial, const GruOptions& options,
              std::string_view name) {
  const Location where = current_location(x.where());
  const LocationScope location(where);
  BELFRY_CHECK(weights.w_x && weights.w_h, "[gru] expected weights w_x and w_h, got an empty tensor (at {})",
               to_string(where));
  const NameScope scope(name.empty() ? "gru" : name);
  Tensor gates = matmul(flatten_steps(x, "gru"), weights.w_x);
  if (weights.b) gates = gates + weights.b;
  const Tensor b_h = weights.b_h ? weights.b_h : zeros_like(reduce_sum(weights.w_h, {.axes = {0}}));
  const Tensor h0 = initial ? initial : zero_state(x.tensor(), weights.w_h);
  std::vector<Operand> inputs{gates, x, weights.w_h, b_h, h0};
  if (options.lengths) inputs.emplace_back(options.lengths);
  Node* node = add_op(sequence_def, inputs);
  return {{node, 0}, {node, 1}};
}

Tensor gru_cell(const Operand& x, const GruWeights& weights, const Tensor& state, std::string_view name) {
  const Location where = current_location(x.where());
  const LocationScope location(where);
  BELFRY_CHECK(x.tensor().rank() == 2, "[gru_cell] expected x of shape [batch, features], got {} (at {})",
               to_string(x.tensor()), to_string(where));
  return gru(expand_dims(x, 0), weights, state, {}, name.empty() ? "gru_cell" : name).last;
}

}  // namespace belfry
