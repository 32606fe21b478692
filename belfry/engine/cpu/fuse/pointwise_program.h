// The language of fused pointwise chains, which the fuse pass writes and engine/cpu/pointwise interprets.
// A program is the attribute "program" of "FusedPointwise", five numbers an instruction: op, to, a, b, c. All values
// are f32; operands and results of type bool are 0 or 1 inside.
#pragma once

#include <bit>
#include <cstdint>

namespace belfry {

// The number of the op's row (pointwise_rows.h). An instruction gives it the sources a, b, c, as many as it reads, and
// the number v if it takes one.
enum class PointwiseOp : std::uint8_t {};

// Which sources have to be 0 for the result to be 0.
enum class ZeroIf : std::uint8_t { never = 0, a = 1, ab = 3, bc = 6 };

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
