// The loop nest of all kernels that go over a Run with per-lane values: constants and sums of a few vectors of
// lanes stay in registers while the loop goes down the periods.
#pragma once

#include "belfry/engine/cpu/vector/run.h"
#include "belfry/engine/cpu/vector/vec_memory.h"

namespace belfry::BELFRY_ISA {
namespace {

struct Place {
  std::int64_t offset;  // of the first float
  std::int64_t mask;    // of the first mask byte
  std::int64_t lane;    // of the first float
};

// kernel.block<vectors>(place, periods, access) handles `vectors` vectors of each of `periods` periods.
template <class Kernel>
void sweep(Kernel& kernel, Place place, std::int64_t lanes, std::int64_t periods) {
  const auto advance = [&](std::int64_t by) {
    place.offset += by, place.lane += by, place.mask += by / 8, lanes -= by;
  };
  for (; lanes >= 4 * kWidth; advance(4 * kWidth)) kernel.template block<4>(place, periods, WholeVector{});
  if (lanes >= 2 * kWidth) {
    kernel.template block<2>(place, periods, WholeVector{});
    advance(2 * kWidth);
  }
  if (lanes >= kWidth) {
    kernel.template block<1>(place, periods, WholeVector{});
    advance(kWidth);
  }
  if (lanes > 0) kernel.template block<1>(place, periods, PartialVector{static_cast<int>(lanes)});
}

template <class Kernel>
void for_each_block(const simd::Run& run, const simd::RunMask& mask, Kernel kernel) {
  // Wide rows are swept a few at a time, so that the sweeps over neighbouring lanes find their lines in L1.
  constexpr std::int64_t kSweepFloats = 4096, kFewestPeriods = 4;
  const std::int64_t fitting = kSweepFloats / run.period;
  const std::int64_t all = run.length / run.period, rest = run.length % run.period;
  const std::int64_t step = run.period <= 4 * kWidth ? all : fitting > kFewestPeriods ? fitting : kFewestPeriods;
  for (std::int64_t slab = 0; slab < run.slabs; ++slab) {
    Place place{slab * run.stride, slab * mask.stride, 0};
    for (std::int64_t p = 0; p < all; p += step) {
      const std::int64_t periods = all - p < step ? all - p : step;
      sweep(kernel, place, run.period, periods);
      place.offset += periods * run.period;
      place.mask += periods * mask.period_stride;
    }
    if (rest > 0) sweep(kernel, place, rest, 1);
  }
}

// Per-lane values of `count` vectors, from a table.
template <int count>
struct Lanes {
  Vec at[count];
  explicit Lanes(const float* table) {
    for (int v = 0; v < count; ++v) at[v] = load(table + v * kWidth);
  }
  void store_to(float* table) const {
    for (int v = 0; v < count; ++v) store(table + v * kWidth, at[v]);
  }
};

// The mask bits of `count` vectors (at most 4), which lie side by side.
template <int count>
inline std::uint64_t load_bits(const std::uint8_t* p) {
  std::uint64_t bits = 0;
  __builtin_memcpy(&bits, p, count * kWidth / 8);
  return bits;
}
template <int count>
inline void store_bits(std::uint8_t* p, std::uint64_t bits) {
  __builtin_memcpy(p, &bits, count * kWidth / 8);
}

inline void clear_lanes(float* table, std::int64_t period) {
  for (std::int64_t lane = 0; lane < period; lane += kWidth) store(table + lane, Vec{});
}

}  // namespace
}  // namespace belfry::BELFRY_ISA
