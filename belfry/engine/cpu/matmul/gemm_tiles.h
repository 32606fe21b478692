// Products of matrices by the CPU's tiles of bf16 (AMX): factors are rounded to bf16 while they are packed, sums are
// f32. One thread's share; only where bf16_support().tiles. Sources in this folder are compiled for such CPUs and
// follow the rules of vector/vec.h: nothing here may be merged with what other machines run.
#pragma once

#include <cstdint>

namespace belfry::tiles {

constexpr int kRows = 16, kDepth = 32;  // of a tile; kDepth factors of one sum, two bytes each
constexpr std::int64_t kTile = std::int64_t{kRows} * kDepth,
                       kBlock = 2 * kRows;  // y is computed in blocks of two by two tiles

// Rounded up to whole steps of depth, and to whole blocks of rows or columns.
inline std::int64_t whole_depth(std::int64_t k) { return (k + kDepth - 1) / kDepth * kDepth; }
inline std::int64_t whole_blocks(std::int64_t n) { return (n + kBlock - 1) / kBlock * kBlock; }

// A factor with `lines` rows of a (or columns of b), k numbers each. `by_depth`: number p of line i at
// from[p * stride + i], else at from[i * stride + p]. Packed [block of lines][step of depth][2 tiles], zeros where it
// ends: whole_blocks(lines) * whole_depth(k) numbers.
struct Factor {
  const float* from = nullptr;
  std::int64_t lines = 0, k = 0, stride = 0;
  bool by_depth = false;
  std::uint16_t* to = nullptr;
};

// y = start + a b, then relu if asked.
struct Product {
  std::int64_t m = 0, n = 0, k = 0;
  const std::uint16_t *a = nullptr, *b = nullptr;  // packed
  float* y = nullptr;
  std::int64_t y_row = 0;
  // What the sums begin with: null for 0; y itself to add to it; with start_row 0 one row for all.
  const float* start = nullptr;
  std::int64_t start_row = 0;
  bool relu = false;
};

void pack_left(const Factor& factor);
void pack_right(const Factor& factor);
void multiply(const Product& product);

}  // namespace belfry::tiles
