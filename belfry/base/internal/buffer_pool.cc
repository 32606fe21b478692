#include "belfry/base/internal/buffer_pool.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "belfry/base/internal/aligned_memory.h"
#include "belfry/base/mutex.h"

namespace belfry {
namespace {

constexpr std::size_t kLarge = std::size_t{1} << 20;  // malloc itself keeps smaller ones

}  // namespace

struct BufferPool::Free {
  explicit Free(std::size_t most) : keep(most) { buffers.reserve(keep + 1); }

  struct Buffer {
    std::size_t bytes = 0;
    std::shared_ptr<void> memory;
  };

  std::optional<Buffer> find(std::size_t bytes) {
    const MutexLock lock(mutex);
    // Not one that is much too large: somebody else may need its size.
    const auto fits = [&](const Buffer& b) { return b.bytes >= bytes && b.bytes <= bytes + bytes / 4; };
    const auto at = std::ranges::find_if(buffers, fits);
    if (at == buffers.end()) return std::nullopt;
    Buffer out = std::move(*at);
    buffers.erase(at);
    return out;
  }

  // Called by deleters, which must not throw: there is room for it.
  void put(Buffer buffer) noexcept {
    Buffer dropped;  // freed outside the lock
    const MutexLock lock(mutex);
    buffers.push_back(std::move(buffer));
    if (buffers.size() <= keep) return;
    dropped = std::move(buffers.front());  // the one unused for the longest time
    buffers.erase(buffers.begin());
  }

  const std::size_t keep;
  Mutex mutex;
  std::vector<Buffer> buffers BELFRY_GUARDED_BY(mutex);
};

BufferPool::BufferPool(std::size_t keep) : free_(std::make_shared<Free>(keep)) {}

std::shared_ptr<void> BufferPool::take(std::size_t bytes) {
  if (bytes < kLarge) return allocate_buffer(bytes);
  std::optional<Free::Buffer> buffer = free_->find(bytes);
  if (!buffer) buffer = Free::Buffer{bytes, allocate_buffer(bytes)};
  void* data = buffer->memory.get();
  return {data, [free = free_, buffer = std::move(*buffer)](void*) mutable { free->put(std::move(buffer)); }};
}

}  // namespace belfry
