// How work over an ActivationView is divided for the lane kernels: into chunks that are short enough for sums in
// float (their results are combined in double), and into one share per thread. Depends only on the view, the
// instruction set and the team size, so that the order of every sum is fixed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "belfry/base/function_ref.h"
#include "belfry/engine/cpu/kernel/isa.h"
#include "belfry/engine/cpu/lanes/activation_view.h"
#include "belfry/engine/cpu/vector/run.h"

namespace belfry {

// One thread's part: a range of groups and, of each of them, a range of chunks.
struct LaneShare {
  std::int64_t first_group = 0, last_group = 0;
  std::int64_t first_chunk = 0, last_chunk = 0;
};

class LanePlan {
 public:
  LanePlan(const ActivationView& view, Isa isa, int team);

  // The same memory with as few slabs as possible: channels keep their numbers.
  const ActivationView& view() const { return view_; }
  std::int64_t period() const { return period_; }
  std::int64_t table_floats() const { return table_floats_; }  // room for one per-lane table

  int parts() const { return parts_; }
  // True: each thread has whole groups, so nothing has to be combined. False: each has a range of chunks.
  bool by_group() const { return by_group_; }
  LaneShare share(int part) const;

  simd::Run run(std::int64_t chunk) const;
  std::int64_t rows(std::int64_t chunk) const;                        // elements of each channel
  std::int64_t offset(std::int64_t group, std::int64_t chunk) const;  // of the chunk's first float
  simd::RunMask mask(std::uint8_t* bits, std::int64_t group, std::int64_t chunk) const;
  std::size_t mask_bytes() const;

  // table[lane] = value(channel), 0 for padding
  void expand(std::int64_t group, float* table, FunctionRef<float(std::int64_t)> value) const;
  // sums[i] += the sum of the table's lanes of channel group * inner + i; spoils the table
  void fold(float* table, double* sums) const;

 private:
  std::int64_t first_slab(std::int64_t chunk) const;
  std::int64_t first_float(std::int64_t chunk) const;

  ActivationView view_;
  int width_ = 0;
  std::int64_t period_ = 0, table_floats_ = 0;
  std::int64_t slab_periods_ = 0;   // periods of a slab, the last may be short
  std::int64_t chunk_periods_ = 0;  // at most, when a slab has several chunks
  std::int64_t chunks_a_slab_ = 1;  // one of these two is 1
  std::int64_t slabs_a_chunk_ = 1;
  std::int64_t chunks_ = 0;  // of a group
  int parts_ = 1;
  bool by_group_ = true;
};

// How many threads are worthwhile for this many bytes: at least 64 KB each, since a fork and join costs microseconds.
int parts_worth(std::int64_t bytes, int team);

// Runs body(part) for each part in [0, parts) on the team, whatever its number of threads.
void run_parts(int parts, FunctionRef<void(int)> body);

// A range of rows of one slab, and which part of the work it belongs to.
struct SlabRows {
  int part = 0;
  std::int64_t slab = 0, begin = 0, end = 0;
};
// Shares out slabs * rows rows evenly, and calls body for ranges of one slab each.
void for_each_slab(std::int64_t slabs, std::int64_t rows, int parts, FunctionRef<void(const SlabRows&)> body);

// Scratch is laid out in pieces that start on cache lines, so that threads do not share one.
constexpr std::size_t cache_lines(std::size_t bytes) { return (bytes + 63) / 64 * 64; }
inline std::byte* align_scratch(void* scratch) {
  return reinterpret_cast<std::byte*>(cache_lines(reinterpret_cast<std::uintptr_t>(scratch)));
}

}  // namespace belfry
