#include "belfry/engine/cpu/pointwise/pointwise_simd.h"

#include "belfry/engine/cpu/pointwise/pointwise_loops.h"

namespace belfry::BELFRY_ISA {
namespace {

using simd::PointwiseAccess;

// Where each place of the program is for the current tile, and the memory of registers and spread-out operands.
struct Machine {
  const float* from[kPointwisePlaces];
  alignas(64) float registers[kPointwiseRegisters][simd::kPointwiseTile];
  alignas(64) float spread[kPointwiseOperands][simd::kPointwiseTile];
  alignas(64) float keep[simd::kPointwiseTile];    // all bits, or none for padding lanes
  alignas(64) float result[simd::kPointwiseTile];  // to be converted to bools
};

// Bools and the numbers 0 and 1.
void spread_mask(float* to, const bool* mask, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) to[i] = mask[i] ? 1.f : 0.f;
}
void store_mask(bool* to, const float* values, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) to[i] = values[i] != 0.f;
}

void spread_value(float* to, float value, std::int64_t n) {
  map_row(to, n, [v = splat(value)] { return v; });
}

struct Tile {
  std::int64_t row, column, rows, length;  // length counts elements of all its rows
};

Tile tile_at(const simd::PointwiseArgs& args, std::int64_t index) {
  if (args.tiles_in_row == 1) {
    const std::int64_t row = index * args.tile_rows, left = args.rows - row;
    const std::int64_t rows = left < args.tile_rows ? left : args.tile_rows;
    return {row, 0, rows, rows * args.inner};
  }
  const std::int64_t row = index / args.tiles_in_row, column = index % args.tiles_in_row * args.tile;
  const std::int64_t left = args.inner - column;
  return {row, column, 1, left < args.tile ? left : args.tile};
}

float value_at(const simd::PointwiseOperand& operand, std::int64_t i) {
  return operand.mask == nullptr ? operand.data[i] : operand.mask[i] ? 1.f : 0.f;
}

// Operands whose spread-out values are the same in every tile.
void prepare(const simd::PointwiseArgs& args, Machine& machine) {
  for (int i = 0; i < kPointwiseRegisters; ++i) machine.from[i] = machine.registers[i];
  for (int i = 0; i < args.operand_count; ++i) {
    const simd::PointwiseOperand& operand = args.operands[i];
    machine.from[kFirstOperand + i] = machine.spread[i];
    if (operand.access == PointwiseAccess::scalar) {
      spread_value(machine.spread[i], value_at(operand, 0), simd::kPointwiseTile);
    } else if (operand.access == PointwiseAccess::row && args.tiles_in_row == 1) {
      for (std::int64_t r = 0; r < args.tile_rows; ++r) {
        float* to = machine.spread[i] + r * args.inner;
        if (operand.mask != nullptr)
          spread_mask(to, operand.mask, args.inner);
        else
          map_row(to, args.inner, [](Vec v) { return v; }, operand.data);
      }
    }
  }
}

void prepare_padding(const simd::PointwisePadding& padding, Machine& machine) {
  for (int i = 0; i < simd::kPointwiseTile; i += kWidth) {
    IntVec bits;
    for (int lane = 0; lane < kWidth; ++lane) bits[lane] = (i + lane) % padding.inner < padding.first ? -1 : 0;
    store(machine.keep + i, as_float(bits));
  }
}

// The part of a slab that is [begin, end) of the outputs starts with a whole row of lanes.
void clear_padding(const simd::PointwiseArgs& args, std::int64_t begin, std::int64_t end, const Machine& machine) {
  const simd::PointwisePadding& padding = args.padding;
  for (std::int64_t slab = begin / padding.slab; slab * padding.slab < end; ++slab) {
    if (slab % padding.groups != padding.groups - 1) continue;
    const std::int64_t first = slab * padding.slab, last = first + padding.slab;
    const std::int64_t from = first < begin ? begin : first, to = last < end ? last : end;
    for (int i = 0; i < args.output_count; ++i) {
      float* output = args.outputs[i] + from;
      map_row(
          output, to - from, [](Vec v, Vec mask) { return as_float(as_int(v) & as_int(mask)); }, output, machine.keep);
    }
  }
}

void point_at(const simd::PointwiseArgs& args, const Tile& tile, Machine& machine) {
  const std::int64_t offset = tile.row * args.inner + tile.column;
  for (int i = 0; i < args.operand_count; ++i) {
    const simd::PointwiseOperand& operand = args.operands[i];
    const float*& from = machine.from[kFirstOperand + i];
    const bool full = operand.access == PointwiseAccess::full;
    if (full || (operand.access == PointwiseAccess::row && args.tiles_in_row > 1)) {
      const std::int64_t first = full ? offset : tile.column;
      if (operand.mask != nullptr)
        spread_mask(machine.spread[i], operand.mask + first, tile.length);
      else
        from = operand.data + first;
    } else if (operand.access == PointwiseAccess::column) {
      const std::int64_t length = tile.length / tile.rows;
      for (std::int64_t r = 0; r < tile.rows; ++r) {
        spread_value(machine.spread[i] + r * length, value_at(operand, tile.row + r), length);
      }
    }
  }
  const bool masked = args.mask_output != nullptr;
  if (masked) machine.from[kFirstOutput] = machine.result;
  for (int i = masked ? 1 : 0; i < args.output_count; ++i) machine.from[kFirstOutput + i] = args.outputs[i] + offset;
}

void run(const simd::PointwiseArgs& args, std::int64_t begin_tile, std::int64_t end_tile) {
  Machine machine;
  prepare(args, machine);
  if (args.padding.slab > 0) prepare_padding(args.padding, machine);
  for (std::int64_t index = begin_tile; index < end_tile; ++index) {
    const Tile tile = tile_at(args, index);
    point_at(args, tile, machine);
    for (int i = 0; i < args.instructions; ++i) {
      const simd::PointwiseInstruction& code = args.code[i];
      const Sources sources = {machine.from[code.a], machine.from[code.b], machine.from[code.c], code.value};
      // Only registers and outputs are written, and those are not const.
      PointwiseLoops::loops[static_cast<int>(code.op)](const_cast<float*>(machine.from[code.to]), sources, tile.length);
    }
    if (args.mask_output != nullptr)
      store_mask(args.mask_output + tile.row * args.inner + tile.column, machine.result, tile.length);
    if (args.padding.slab > 0) clear_padding(args, tile.column, tile.column + tile.length, machine);
  }
}

}  // namespace

const simd::PointwiseKernels kPointwise = {run};

}  // namespace belfry::BELFRY_ISA
