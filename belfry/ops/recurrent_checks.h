// What the ops of recurrent layers have in common. The texts continue "[Op 'name'] ...".
#pragma once

#include "belfry/graph/op_def.h"

namespace belfry {

// x [time, batch, features] as a matrix [time * batch, features]. A mistake names `op` and the caller's line.
Tensor flatten_steps(const Operand& x, const char* op);

// Zeros [batch, units], by the shapes of x and of w_h [units, ...] alone.
Tensor zero_state(const Tensor& x, const Tensor& w_h);

// time * batch, or kAny.
std::int64_t step_rows(const Shape& x);

// Input `index` is an optional vector of lengths, the last input.
void check_lengths(const ShapeContext& c, int index, std::int64_t batch);

// What the gradient of a gradient op says.
[[noreturn]] void fail_second_order(const GradientContext& c, const char* op);

}  // namespace belfry
