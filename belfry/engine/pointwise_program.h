// The language of fused pointwise chains: what the fuse pass writes and each kind of device interprets or compiles.
// A program is the attribute "program" of "FusedPointwise", five numbers an instruction: op, to, a, b, c.
#pragma once

#include <cstdint>

namespace belfry {

// What an instruction does with its sources a, b, c and its number v.
enum class PointwiseOp : std::uint8_t {
  fill,      // v
  copy,      // a
  add,       // a + b
  subtract,  // a - b
  multiply,  // a b
  divide,    // a / b
  maximum,   // NaN if either is
  minimum,
  power,   // a^b as libm's pow
  fma,     // a b + c
  select,  // c != 0 ? a : b
  equal,   // comparisons give 0 or 1
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal,
  add_value,            // a + v
  multiply_value,       // a v
  subtract_from_value,  // v - a
  divide_value,         // v / a
  maximum_value,        // NaN if a is
  minimum_value,
  power_value,  // a^v
  negate,
  abs,
  square,
  sqrt,
  rsqrt,
  reciprocal,
  exp,
  expm1,
  log,
  log1p,
  tanh,
  sigmoid,
  softplus,  // log(1 + e^a)
  erf,
  gelu,        // a P(a), P being the standard normal distribution's share below a
  gelu_slope,  // the derivative of gelu at a
  gelu_grad,   // a times the derivative of gelu at b
  sin,
  cos,
  sign,  // -1, 0 or 1; NaN of NaN
  floor,
  ceil,
  round,            // halves to even
  relu,             // max(a, 0)
  relu_grad,        // b > 0 ? a : 0, for a = dy and b = y or x
  leaky_relu,       // a > 0 ? a : v a
  leaky_relu_grad,  // b > 0 ? a : v a, for a = dy and b = x (or y, if v > 0)
  count
};

constexpr int kPointwiseRegisters = 16, kPointwiseOperands = 16, kPointwiseOutputs = 8;

// Where an instruction reads or writes: a register, an operand in memory (read only) or an output in memory.
constexpr int kFirstOperand = kPointwiseRegisters, kFirstOutput = kFirstOperand + kPointwiseOperands;
constexpr int kPointwisePlaces = kFirstOutput + kPointwiseOutputs;

}  // namespace belfry
