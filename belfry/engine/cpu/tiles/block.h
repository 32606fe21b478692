// A block of two by two tiles of sums, held in tiles 0 to 3 while a loop goes down the depth.
#pragma once

#include "belfry/engine/cpu/matmul/gemm_tiles.h"
#include "belfry/engine/cpu/tiles/tile_scope.h"

namespace belfry::tiles {
namespace {

// Tiles of a: rows `row` numbers apart, the second tile `below` the first, the next step of depth `step` on.
struct Left {
  const std::uint16_t* at;
  std::int64_t row, below, step;
};

// `tall` and `wide`: whether the second tiles of rows and of columns are wanted.
template <bool tall, bool wide>
struct Block {
  static void clear() {
    _tile_zero(0);
    if constexpr (wide) _tile_zero(1);
    if constexpr (tall) _tile_zero(2);
    if constexpr (tall && wide) _tile_zero(3);
  }
  static void add(Left a, const std::uint16_t* b, std::int64_t steps) {
    const std::int64_t row = a.row * 2;
    for (std::int64_t s = 0; s < steps; ++s, a.at += a.step, b += 2 * kTile) {
      _tile_loadd(4, a.at, row);
      _tile_loadd(6, b, 64);
      _tile_dpbf16ps(0, 4, 6);
      if constexpr (wide) {
        _tile_loadd(7, b + kTile, 64);
        _tile_dpbf16ps(1, 4, 7);
      }
      if constexpr (tall) {
        _tile_loadd(5, a.at + a.below, row);
        _tile_dpbf16ps(2, 5, 6);
        if constexpr (wide) _tile_dpbf16ps(3, 5, 7);
      }
    }
  }
  static void store(float* sums) {
    _tile_stored(0, sums, kBlock * sizeof(float));
    if constexpr (wide) _tile_stored(1, sums + kRows, kBlock * sizeof(float));
    if constexpr (tall) _tile_stored(2, sums + kRows * kBlock, kBlock * sizeof(float));
    if constexpr (tall && wide) _tile_stored(3, sums + kRows * kBlock + kRows, kBlock * sizeof(float));
  }
};

// Calls f<tall, wide>().
template <class F>
void choose_block(bool tall, bool wide, const F& f) {
  if (tall)
    wide ? f.template operator()<true, true>() : f.template operator()<true, false>();
  else
    wide ? f.template operator()<false, true>() : f.template operator()<false, false>();
}

}  // namespace
}  // namespace belfry::tiles
