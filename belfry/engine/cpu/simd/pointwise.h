// An interpreter for fused chains of pointwise operations. A program runs tile by tile: each instruction is one
// vectorised loop over a few hundred elements, so intermediate values stay in the first-level cache and memory is
// read and written once. Programs are built with the helpers of kernels/pointwise.h.
#pragma once

#include <cstdint>

namespace belfry::simd {

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

constexpr int kPointwiseTile = 512;  // floats in a register: 2 KB
constexpr int kPointwiseRegisters = 16, kPointwiseOperands = 16, kPointwiseOutputs = 8;

// Where an instruction reads or writes: a register, an operand in memory (read only) or an output in memory.
constexpr int kFirstOperand = kPointwiseRegisters, kFirstOutput = kFirstOperand + kPointwiseOperands;
constexpr int kPointwisePlaces = kFirstOutput + kPointwiseOutputs;

struct PointwiseInstruction {
  PointwiseOp op = PointwiseOp::copy;
  std::uint8_t to = 0, a = 0, b = 0, c = 0;
  float value = 0;
};

// How element (r, i) of [rows][inner] is found: full data[r * inner + i], scalar data[0], row data[i],
// column data[r].
enum class PointwiseAccess : std::uint8_t { full, scalar, row, column };

struct PointwiseOperand {
  const float* data = nullptr;
  PointwiseAccess access = PointwiseAccess::full;
};

// Padding lanes of the outputs, which are cleared whatever the program makes of them: of [slabs][slab / inner][inner]
// the lanes from `first` on, in the last slab of every `groups`. inner divides 16. slab 0: there are none.
struct PointwisePadding {
  std::int64_t slab = 0, groups = 0, inner = 0, first = 0;
};

// A tile is `tile_rows` whole rows if inner <= tile, and else a part of one row, at most `tile` long.
struct PointwiseArgs {
  const PointwiseInstruction* code = nullptr;
  int instructions = 0;
  const PointwiseOperand* operands = nullptr;
  int operand_count = 0;
  float* const* outputs = nullptr;
  int output_count = 0;
  std::int64_t rows = 0, inner = 0;
  std::int64_t tile = 0, tile_rows = 0, tiles_in_row = 0;
  PointwisePadding padding{};  // with it, tiles start at multiples of 16 and are at most kPointwiseTile long
};

struct PointwiseKernels {
  void (*run)(const PointwiseArgs&, std::int64_t begin_tile, std::int64_t end_tile);
};

}  // namespace belfry::simd

namespace belfry::avx2 {
extern const simd::PointwiseKernels kPointwise;
}
namespace belfry::avx512 {
extern const simd::PointwiseKernels kPointwise;
}
