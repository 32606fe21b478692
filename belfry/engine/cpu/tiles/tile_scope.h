// Sets up the calling thread's tiles while it exists: all eight with 16 rows of 64 bytes.
#pragma once

#include <cstdint>

#include "belfry/engine/cpu/tiles/intrinsics.h"

namespace belfry::tiles {
namespace {

struct alignas(64) TileLayout {
  std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(TileLayout) == 64);

class TileScope {
 public:
  TileScope() {
    const TileLayout layout;
    _tile_loadconfig(&layout);
  }
  ~TileScope() { _tile_release(); }
  TileScope(const TileScope&) = delete;
  TileScope& operator=(const TileScope&) = delete;
};

}  // namespace
}  // namespace belfry::tiles
