// Fused chains of pointwise operations on the team's threads.
//
//   // y = relu(x * scale + bias), x and y [rows][channels], scale and bias [channels]
//   const PointwiseInstruction code[] = {
//       {pointwise_op("Mul"), place::reg(0), place::operand(0), place::operand(1)},
//       {pointwise_op("Add"), place::reg(0), place::reg(0), place::operand(2)},
//       {pointwise_op("Relu"), place::output(0), place::reg(0)}};
//   const PointwiseProgram program{code, 3, 1};
//   check_pointwise(program);  // once, when the plan is made
//   run_pointwise(program, {.rows = rows, .inner = channels, .operands = operands, .outputs = outputs});
//
// The bits do not depend on the number of threads. An output may share memory with a full operand as long as no
// instruction after the one that writes the output reads the operand.
#pragma once

#include <cstdint>
#include <span>

#include "belfry/engine/cpu/kernel/isa.h"
#include "belfry/engine/cpu/pointwise/pointwise_simd.h"

namespace belfry {

using simd::PointwiseAccess;
using simd::PointwiseInstruction;
using simd::PointwiseOperand;
using simd::PointwisePadding;

// Where an instruction reads and writes.
namespace place {
constexpr std::uint8_t reg(int i) { return static_cast<std::uint8_t>(i); }
constexpr std::uint8_t operand(int i) { return static_cast<std::uint8_t>(kFirstOperand + i); }
constexpr std::uint8_t output(int i) { return static_cast<std::uint8_t>(kFirstOutput + i); }
}  // namespace place

struct PointwiseProgram {
  std::span<const PointwiseInstruction> code;
  int operands = 0, outputs = 0;
};

// The tensors of one run: as many operands and outputs as the program says, outputs [rows][inner].
struct PointwiseRun {
  std::int64_t rows = 0, inner = 0;
  std::span<const PointwiseOperand> operands;
  std::span<float* const> outputs;
  bool* mask_output = nullptr;  // instead of output 0, whose pointer is not used: whether its values are not 0
  PointwisePadding padding{};   // of the outputs; operands are full or one number then
};

// Throws InternalError unless every place exists, is written before it is read, only registers and outputs are
// written, and every output is.
void check_pointwise(const PointwiseProgram& program);

void run_pointwise(const PointwiseProgram& program, const PointwiseRun& run, Isa isa = cpu_isa());

}  // namespace belfry
