#include "belfry/engine/crossing_memory.h"

#include <algorithm>

namespace belfry {
namespace {

// Room to grow, so that larger batches seldom move a buffer. Addresses only: memory that nobody touches costs nothing.
std::size_t roomy(std::size_t bytes) {
  constexpr std::size_t kMost = std::size_t{1} << 30;
  return std::max(bytes, std::min(64 * bytes, kMost));
}

}  // namespace

void* CrossingMemory::require(const Key& key, std::size_t bytes) {
  const auto [at, added] = buffers_.try_emplace(key);
  if (added || at->second.bytes() < bytes) {
    at->second = Array(DType::u8, {static_cast<std::int64_t>(roomy(bytes))});
    generation_ += !added;
  }
  return at->second.raw();
}

}  // namespace belfry
