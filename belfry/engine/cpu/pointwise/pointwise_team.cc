#include "belfry/engine/cpu/pointwise/pointwise_team.h"

#include <algorithm>

#include "belfry/base/check.h"
#include "belfry/base/parallel.h"
#include "belfry/engine/cpu/pointwise/pointwise_ops.h"

namespace belfry {
namespace {

constexpr std::int64_t kLongTile = 8192;  // for programs that need no scratch
constexpr std::int64_t kLine = 16;        // floats in a cache line

const simd::PointwiseKernels& table(Isa isa) { return by_isa(isa, avx2::kPointwise, avx512::kPointwise); }

// Elements a thread must have to be worth waking: the fewer, the more is done with each.
std::int64_t grain_of(const PointwiseProgram& program) {
  return std::max<std::int64_t>(4096, 32768 / static_cast<std::int64_t>(program.code.size()));
}

}  // namespace

void check_pointwise(const PointwiseProgram& program) {
  BELFRY_BUG_IF(program.code.empty(), "a pointwise program without instructions");
  BELFRY_BUG_IF(program.operands < 0 || program.operands > kPointwiseOperands, "a pointwise program with {} operands",
                program.operands);
  BELFRY_BUG_IF(program.outputs < 0 || program.outputs > kPointwiseOutputs, "a pointwise program with {} outputs",
                program.outputs);
  bool ready[kPointwisePlaces] = {};
  for (int i = 0; i < program.operands; ++i) ready[place::operand(i)] = true;
  int position = 0;
  for (const PointwiseInstruction& code : program.code) {
    const std::uint8_t sources[] = {code.a, code.b, code.c};
    BELFRY_BUG_IF(static_cast<int>(code.op) >= pointwise_op_count(), "instruction {}: operation {} does not exist",
                  position, static_cast<int>(code.op));
    for (int i = 0; i < 3; ++i) {
      BELFRY_BUG_IF(sources[i] >= kPointwisePlaces, "instruction {}: source {} is not a place", position, i);
      BELFRY_BUG_IF(i < source_count(code.op) && !ready[sources[i]],
                    "instruction {}: source {} is read before anything is written there", position, i);
    }
    const bool to_output = code.to >= kFirstOutput && code.to < place::output(program.outputs);
    BELFRY_BUG_IF(code.to >= kPointwiseRegisters && !to_output, "instruction {}: place {} cannot be written", position,
                  static_cast<int>(code.to));
    ready[code.to] = true;
    ++position;
  }
  for (int i = 0; i < program.outputs; ++i) BELFRY_BUG_IF(!ready[place::output(i)], "output {} is never written", i);
}

void run_pointwise(const PointwiseProgram& program, const PointwiseRun& run, Isa isa) {
  if (run.rows * run.inner == 0) return;
  simd::PointwiseArgs args{.code = program.code.data(),
                           .instructions = static_cast<int>(program.code.size()),
                           .outputs = run.outputs.data(),
                           .output_count = program.outputs,
                           .rows = run.rows,
                           .inner = run.inner,
                           .mask_output = run.mask_output,
                           .padding = run.padding};
  // A row of one element or a single row makes broadcasts simpler ones, and without broadcasts all is one long row.
  PointwiseOperand operands[kPointwiseOperands];
  bool in_rows = false, needs_scratch = program.code.size() > 1 || run.padding.slab > 0 || run.mask_output != nullptr;
  for (int i = 0; i < program.operands; ++i) {
    operands[i] = run.operands[static_cast<std::size_t>(i)];
    PointwiseAccess& access = operands[i].access;
    if (access == PointwiseAccess::row && run.inner == 1) access = PointwiseAccess::scalar;
    if (access == PointwiseAccess::row && run.rows == 1) access = PointwiseAccess::full;
    if (access == PointwiseAccess::column && run.rows == 1) access = PointwiseAccess::scalar;
    if (access == PointwiseAccess::column && run.inner == 1) access = PointwiseAccess::full;
    in_rows |= access == PointwiseAccess::row || access == PointwiseAccess::column;
    needs_scratch |= access != PointwiseAccess::full || operands[i].mask != nullptr;
  }
  BELFRY_BUG_IF(in_rows && run.padding.slab > 0, "padding lanes and operands that are repeated in rows");
  args.operands = operands;
  args.operand_count = program.operands;
  if (!in_rows) {
    args.inner = run.rows * run.inner;
    args.rows = 1;
  }
  const std::int64_t longest = needs_scratch ? simd::kPointwiseTile : kLongTile;
  if (args.inner <= longest) {
    args.tile_rows = std::min(longest / args.inner, args.rows);
    args.tiles_in_row = 1;
    args.tile = args.tile_rows * args.inner;
  } else {
    args.tile_rows = 1;
    args.tiles_in_row = (args.inner + longest - 1) / longest;
    args.tile = (args.inner / args.tiles_in_row + kLine) / kLine * kLine;  // even parts, whole cache lines
    args.tile = std::min(args.tile, longest);
  }
  const std::int64_t tiles = (args.rows + args.tile_rows - 1) / args.tile_rows * args.tiles_in_row;
  parallel_for(tiles, std::max<std::int64_t>(1, grain_of(program) / args.tile),
               [&](std::int64_t begin, std::int64_t end) { table(isa).run(args, begin, end); });
}

}  // namespace belfry
