#include "belfry/engine/cpu/matmul/gemm.h"

#include <algorithm>

#include "belfry/engine/cpu/lanes/lane_plan.h"
#include "belfry/engine/cpu/matmul/gemm_simd.h"
#include "belfry/engine/cpu/matmul/gemm_tiles.h"

namespace belfry {
namespace {

// Blocks of k for which a panel of b stays in the first-level cache or close to it; columns and rows for which the
// packed parts stay in the second level.
constexpr std::int64_t kBlockDepth = 256, kBlockColumns = 960, kBlockRows = 480;

const simd::GemmKernels& table(Isa isa) { return by_isa(isa, avx2::kGemm, avx512::kGemm); }

// The size of equal blocks of at most `most`.
std::int64_t even_block(std::int64_t size, std::int64_t most) {
  const std::int64_t blocks = std::max<std::int64_t>(1, (size + most - 1) / most);
  return (size + blocks - 1) / blocks;
}

std::size_t right_bytes(std::int64_t n, std::int64_t k, Isa isa) {
  return cache_lines(static_cast<std::size_t>(simd::gemm_panel_floats(
                         even_block(k, kBlockDepth), std::min(n, kBlockColumns), table(isa).vector_columns)) *
                     sizeof(float));
}

}  // namespace

std::size_t gemm_scratch_bytes(std::int64_t m, std::int64_t n, std::int64_t k, bool transpose_a, Isa isa) {
  const std::int64_t tile = table(isa).tile_rows, rows = (std::min(m, kBlockRows) + tile - 1) / tile * tile;
  const auto left = static_cast<std::size_t>(transpose_a ? rows * even_block(k, kBlockDepth) : 0) * sizeof(float);
  return right_bytes(n, k, isa) + cache_lines(left);
}

void gemm(const GemmProduct& x, void* scratch, Isa isa) {
  const simd::GemmKernels& kernels = table(isa);
  auto* right = static_cast<float*>(scratch);
  auto* left = reinterpret_cast<float*>(static_cast<std::byte*>(scratch) + right_bytes(x.n, x.k, isa));
  const std::int64_t depth = even_block(x.k, kBlockDepth);
  for (std::int64_t column = 0; column < x.n; column += kBlockColumns)
    for (std::int64_t p = 0; p < x.k; p += depth) {
      const std::int64_t columns = std::min(kBlockColumns, x.n - column), k = std::min(depth, x.k - p);
      kernels.pack({.from = x.b.data + (x.b.transposed ? column * x.b.row + p : p * x.b.row + column),
                    .row = x.b.transposed ? 1 : x.b.row,
                    .column = x.b.transposed ? x.b.row : 1,
                    .k = k,
                    .n = columns,
                    .to = right});
      for (std::int64_t row = 0; row < x.m; row += kBlockRows) {
        const std::int64_t rows = std::min(kBlockRows, x.m - row);
        float* y = x.y + row * x.y_row + column;
        const float* start = x.start == nullptr ? nullptr : x.start + row * x.start_row + column;
        simd::Gemm block{.m = rows,
                         .n = columns,
                         .k = k,
                         .b = right,
                         .y = y,
                         .y_row = x.y_row,
                         .start = p == 0 ? start : y,
                         .start_row = p == 0 ? x.start_row : x.y_row};
        if (x.a.transposed) {
          kernels.pack_left({.from = x.a.data + p * x.a.row + row, .step = x.a.row, .m = rows, .k = k, .to = left});
          block.a = left;
          block.by_columns = true;
          block.a_step = kernels.tile_rows;
          block.a_tile = k * kernels.tile_rows;
        } else {
          block.a = x.a.data + row * x.a.row + p;
          block.a_row = x.a.row;
        }
        kernels.multiply(block);
      }
    }
}

namespace {

constexpr std::int64_t kTileRows = 64;  // of a, packed at a time

std::size_t packed_bf16(std::int64_t lines, std::int64_t k) {
  return static_cast<std::size_t>(tiles::whole_blocks(lines) * tiles::whole_depth(k)) * sizeof(std::uint16_t);
}

}  // namespace

std::size_t PackedRight::bytes(const GemmProduct& x, Isa isa) {
  if (x.bf16) return cache_lines(packed_bf16(x.n, x.k) + packed_bf16(kTileRows, x.k));
  const std::int64_t floats = simd::gemm_panel_floats(x.k, x.n, table(isa).vector_columns);
  return cache_lines(static_cast<std::size_t>(floats) * sizeof(float));
}

PackedRight::PackedRight(const GemmProduct& x, void* memory, Isa isa)
    : product_(x), packed_(static_cast<float*>(memory)), isa_(isa) {
  if (x.bf16) {
    tiles::pack_right({.from = x.b.data,
                       .lines = x.n,
                       .k = x.k,
                       .stride = x.b.row,
                       .by_depth = !x.b.transposed,
                       .to = static_cast<std::uint16_t*>(memory)});
    return;
  }
  const std::int64_t depth = even_block(x.k, kBlockDepth),
                     width = simd::gemm_panel_floats(1, x.n, table(isa).vector_columns);
  for (std::int64_t p = 0; p < x.k; p += depth)
    table(isa).pack({.from = x.b.data + (x.b.transposed ? p : p * x.b.row),
                     .row = x.b.transposed ? 1 : x.b.row,
                     .column = x.b.transposed ? x.b.row : 1,
                     .k = std::min(depth, x.k - p),
                     .n = x.n,
                     .to = packed_ + p * width});
}

void PackedRight::multiply_bf16(std::int64_t first, std::int64_t rows) const {
  const GemmProduct& x = product_;
  const auto* right = reinterpret_cast<const std::uint16_t*>(packed_);
  auto* left = reinterpret_cast<std::uint16_t*>(reinterpret_cast<std::byte*>(packed_) + packed_bf16(x.n, x.k));
  for (std::int64_t row = first; row < first + rows; row += kTileRows) {
    const std::int64_t some = std::min(kTileRows, first + rows - row);
    tiles::pack_left({.from = x.a.data + row * x.a.row, .lines = some, .k = x.k, .stride = x.a.row, .to = left});
    tiles::multiply({.m = some,
                     .n = x.n,
                     .k = x.k,
                     .a = left,
                     .b = right,
                     .y = x.y + row * x.y_row,
                     .y_row = x.y_row,
                     .start = x.start == nullptr ? nullptr : x.start + row * x.start_row,
                     .start_row = x.start_row});
  }
}

void PackedRight::multiply(std::int64_t first, std::int64_t rows) const {
  const GemmProduct& x = product_;
  if (x.bf16) return multiply_bf16(first, rows);
  const std::int64_t depth = even_block(x.k, kBlockDepth),
                     width = simd::gemm_panel_floats(1, x.n, table(isa_).vector_columns);
  float* y = x.y + first * x.y_row;
  const float* start = x.start == nullptr ? nullptr : x.start + first * x.start_row;
  for (std::int64_t p = 0; p < x.k; p += depth)
    table(isa_).multiply({.m = rows,
                          .n = x.n,
                          .k = std::min(depth, x.k - p),
                          .a = x.a.data + first * x.a.row + p,
                          .a_row = x.a.row,
                          .b = packed_ + p * width,
                          .y = y,
                          .y_row = x.y_row,
                          .start = p == 0 ? start : y,
                          .start_row = p == 0 ? x.start_row : x.y_row});
}

}  // namespace belfry
