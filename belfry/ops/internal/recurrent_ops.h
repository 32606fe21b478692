// What the ops of recurrent layers have in common. The texts continue "[Op 'name'] ...".
#pragma once

#include <initializer_list>

#include "belfry/graph/op_def.h"

namespace belfry {

// x [time, batch, features] as a matrix [time * batch, features]. A mistake names `op` and the caller's line.
Tensor flatten_steps(const Operand& x, const char* op);

// Zeros [batch, units], from only the shapes of x and of w_h [units, ...].
Tensor zero_state(const Tensor& x, const Tensor& w_h);

struct SequenceSizes {
  std::int64_t rows = 0, batch = 0, units = 0, gates = 0;  // rows = time * batch, gates = units * how many there are
};
// By the inputs x [time, batch, features] and w_h [units, gates * units]; kAny where a size is not known.
SequenceSizes sequence_sizes(const ShapeContext& c, int x, int w_h, int gates);

// These inputs have the type of the first one, a float.
void check_float_types(const ShapeContext& c, std::initializer_list<int> inputs);

// The gradient of an output, zeros if none arrived.
Tensor grad_or_zeros(const GradientContext& c, int output);

// Input `index` is an optional vector of lengths, the last input.
void check_lengths(const ShapeContext& c, int index, std::int64_t batch);

// The error for the gradient of a gradient op.
[[noreturn]] void fail_second_order(const GradientContext& c, const char* op);

}  // namespace belfry
