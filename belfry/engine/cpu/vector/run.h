// The arguments of kernels that work lane by lane. Only plain data: this header is included by code of every
// instruction set, so it must hold nothing that the linker could merge.
#pragma once

#include <cstdint>

namespace belfry::simd {

// `slabs` runs of `length` floats, `stride` floats apart. Position p of a run belongs to lane p % period; tables of
// per-lane values are padded with zeros to a multiple of 16 floats.
struct Run {
  std::int64_t slabs = 0;
  std::int64_t stride = 0;
  std::int64_t length = 0;
  std::int64_t period = 0;
};

// One bit for each float of a run, set where a gradient passes: each period begins at a whole number of vectors.
struct RunMask {
  std::uint8_t* bits = nullptr;    // null: everything passes
  std::int64_t stride = 0;         // bytes between slabs
  std::int64_t period_stride = 0;  // bytes between periods
};

}  // namespace belfry::simd
