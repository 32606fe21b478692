// An interpreter for fused chains of pointwise operations. A program runs tile by tile: each instruction is one
// vectorised loop over a few hundred elements, so intermediate values stay in the first-level cache and memory is
// read and written once. Programs are built with the helpers of pointwise_team.h.
#pragma once

#include <cstdint>

#include "belfry/engine/cpu/fuse/pointwise_program.h"

namespace belfry::simd {

constexpr int kPointwiseTile = 512;  // floats in a register: 2 KB
struct PointwiseInstruction {
  PointwiseOp op{};
  std::uint8_t to = 0, a = 0, b = 0, c = 0;
  float value = 0;
};

// Where element (r, i) of [rows][inner] is: full data[r * inner + i], scalar data[0], row data[i],
// column data[r].
enum class PointwiseAccess : std::uint8_t { full, scalar, row, column };

struct PointwiseOperand {
  const float* data = nullptr;
  PointwiseAccess access = PointwiseAccess::full;
  const bool* mask = nullptr;  // instead of data: bools, read as 0 or 1
};

// Padding lanes of the outputs, which are cleared whatever the program computes: of [slabs][slab / inner][inner]
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
  bool* mask_output = nullptr;  // instead of output 0: whether its values are not 0; tiles as for padding
  PointwisePadding padding{};   // with it, tiles start at multiples of 16 and are at most kPointwiseTile long
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
