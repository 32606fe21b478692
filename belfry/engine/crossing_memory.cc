#include "belfry/engine/crossing_memory.h"

namespace belfry {

void* CrossingMemory::require(const Key& key, std::size_t bytes) {
  const auto [at, added] = buffers_.try_emplace(key);
  if (added || at->second.bytes() < bytes) {
    at->second = Array(DType::u8, {static_cast<std::int64_t>(bytes)});
    generation_ += !added;
  }
  return at->second.raw();
}

}  // namespace belfry
