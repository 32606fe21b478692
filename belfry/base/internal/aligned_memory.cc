#include "belfry/base/internal/aligned_memory.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>

namespace belfry {
namespace {

std::size_t rounded(std::size_t bytes) {
  if (bytes > std::numeric_limits<std::size_t>::max() - kBufferAlignment) throw std::bad_alloc();
  return std::max(kBufferAlignment, (bytes + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment);
}

}  // namespace

std::shared_ptr<void> allocate_buffer(std::size_t bytes) {
  void* data = std::aligned_alloc(kBufferAlignment, rounded(bytes));
  if (data == nullptr) throw std::bad_alloc();
  return {data, [](void* p) { std::free(p); }};
}

std::shared_ptr<void> allocate_zeroed_buffer(std::size_t bytes) {
  std::shared_ptr<void> buffer = allocate_buffer(bytes);
  std::memset(buffer.get(), 0, rounded(bytes));
  return buffer;
}

}  // namespace belfry
