#include "belfry/engine/cpu/matmul/bf16_gemm.h"

#include <algorithm>

#include "belfry/engine/cpu/lanes/lane_plan.h"
#include "belfry/engine/cpu/matmul/gemm_tiles.h"

namespace belfry {
namespace {

// The packed parts of both factors stay in the second-level cache.
constexpr std::int64_t kBf16Depth = 1024, kBf16Columns = 512, kBf16Rows = 256;

std::size_t packed_bytes(std::int64_t lines, std::int64_t k) {
  return cache_lines(static_cast<std::size_t>(tiles::whole_blocks(lines) * tiles::whole_depth(k)) *
                     sizeof(std::uint16_t));
}
std::size_t right_bytes(std::int64_t n, std::int64_t k) {
  return packed_bytes(std::min(n, kBf16Columns), std::min(k, kBf16Depth));
}

}  // namespace

std::size_t bf16_gemm_scratch_bytes(std::int64_t m, std::int64_t n, std::int64_t k) {
  return right_bytes(n, k) + packed_bytes(std::min(m, kBf16Rows), std::min(k, kBf16Depth));
}

void bf16_gemm(const GemmProduct& x, bool relu, void* scratch) {
  auto* right = static_cast<std::uint16_t*>(scratch);
  auto* left = reinterpret_cast<std::uint16_t*>(static_cast<std::byte*>(scratch) + right_bytes(x.n, x.k));
  for (std::int64_t column = 0; column < x.n; column += kBf16Columns)
    for (std::int64_t p = 0; p < x.k; p += kBf16Depth) {
      const std::int64_t columns = std::min(kBf16Columns, x.n - column), k = std::min(kBf16Depth, x.k - p);
      tiles::pack_right({.from = x.b.data + (x.b.transposed ? column * x.b.row + p : p * x.b.row + column),
                         .lines = columns,
                         .k = k,
                         .stride = x.b.row,
                         .by_depth = !x.b.transposed,
                         .to = right});
      for (std::int64_t row = 0; row < x.m; row += kBf16Rows) {
        const std::int64_t rows = std::min(kBf16Rows, x.m - row);
        tiles::pack_left({.from = x.a.data + (x.a.transposed ? p * x.a.row + row : row * x.a.row + p),
                          .lines = rows,
                          .k = k,
                          .stride = x.a.row,
                          .by_depth = x.a.transposed,
                          .to = left});
        float* y = x.y + row * x.y_row + column;
        const float* start = x.start == nullptr ? nullptr : x.start + row * x.start_row + column;
        tiles::multiply({.m = rows,
                         .n = columns,
                         .k = k,
                         .a = left,
                         .b = right,
                         .y = y,
                         .y_row = x.y_row,
                         .start = p == 0 ? start : y,
                         .start_row = p == 0 ? x.start_row : x.y_row,
                         .relu = relu && p + k == x.k});
      }
    }
}

}  // namespace belfry
