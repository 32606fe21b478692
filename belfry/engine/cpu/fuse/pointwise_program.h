// The language of fused pointwise chains: what the fuse pass writes and each kind of device interprets or compiles.
// A program is the attribute "program" of "FusedPointwise", five numbers an instruction: op, to, a, b, c. All values
// are f32; operands and results of type bool are 0 or 1 inside.
#pragma once

#include <bit>
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
  elu,              // a > 0 ? a : e^a - 1
  selu,             // elu with kSeluScale and kSeluAlpha
  swish,            // a sigmoid(a)
  prelu,            // a > 0 ? a : a b
  clip,             // min(max(a, b), c); NaN if any is
  floor_divide,     // floor(a / b)
  mod,              // a - floor(a / b) b, exact: has the sign of b
  logical_not,      // a == 0
  is_nan,
  is_inf,
  is_finite,
  count
};

// The first of the five numbers holds v too, in its upper half.
constexpr std::int64_t pack_pointwise(PointwiseOp op, float v) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(std::bit_cast<std::uint32_t>(v)) << 32) |
         static_cast<std::int64_t>(op);
}
constexpr PointwiseOp unpack_op(std::int64_t packed) { return static_cast<PointwiseOp>(packed & 0xFF); }
constexpr float unpack_value(std::int64_t packed) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(static_cast<std::uint64_t>(packed) >> 32));
}

constexpr int kPointwiseRegisters = 16, kPointwiseOperands = 16, kPointwiseOutputs = 8;

// Where an instruction reads or writes: a register, an operand in memory (read only) or an output in memory.
constexpr int kFirstOperand = kPointwiseRegisters, kFirstOutput = kFirstOperand + kPointwiseOperands;
constexpr int kPointwisePlaces = kFirstOutput + kPointwiseOutputs;

}  // namespace belfry
