// Large buffers that are used again. Freeing one and allocating it again costs about as much as filling it: the
// system takes its pages away and gives back zeroed ones.
#pragma once

#include <cstddef>
#include <memory>

namespace belfry {

// Any thread may free a buffer; take() is for one thread at a time. Buffers may outlive the pool.
class BufferPool {
 public:
  // Keeps at most this many buffers for later use; others are freed.
  explicit BufferPool(std::size_t keep = 3);

  // Like allocate_buffer() of aligned_memory.h, which it calls for small ones.
  std::shared_ptr<void> take(std::size_t bytes);

 private:
  struct Free;
  std::shared_ptr<Free> free_;
};

}  // namespace belfry
