#include "belfry/engine/crossing_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

namespace belfry {
namespace {

// Room to grow, so that larger batches seldom move a buffer. Only addresses: untouched memory costs nothing.
std::size_t roomy(std::size_t bytes) {
  constexpr std::size_t kMost = std::size_t{1} << 30;
  return std::max(bytes, std::min(64 * bytes, kMost));
}

// Huge pages (2 MB), which the machine may use everywhere, would be backed as a whole if a little is touched.
void keep_pages_small(Array& memory) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = (reinterpret_cast<std::uintptr_t>(memory.raw()) + page - 1) / page * page,
             end = (reinterpret_cast<std::uintptr_t>(memory.raw()) + memory.bytes()) / page * page;
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_NOHUGEPAGE);  // a hint
}

}  // namespace

void* CrossingMemory::require(const Key& key, std::size_t bytes) {
  const auto [at, added] = buffers_.try_emplace(key);
  Buffer& buffer = at->second;
  buffer.required = std::max(buffer.required, bytes);
  if (added || buffer.memory.bytes() < bytes) {
    buffer.memory = Array(DType::u8, {static_cast<std::int64_t>(roomy(bytes))});
    keep_pages_small(buffer.memory);
    generation_ += !added;
  }
  return buffer.memory.raw();
}

std::size_t CrossingMemory::bytes() const {
  std::size_t total = 0;
  for (const auto& [key, buffer] : buffers_) total += buffer.required;
  return total;
}

}  // namespace belfry
