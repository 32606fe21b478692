// Buffers for numbers: aligned to a cache line, which is also the widest vector, and freed by their last owner.
#pragma once

#include <cstddef>
#include <memory>

#pragma GCC visibility push(default)
namespace belfry {

inline constexpr std::size_t kBufferAlignment = 64;

// The size is rounded up to a multiple of the alignment, and at least that, so that whole vectors can be read to the
// end. Throws std::bad_alloc.
std::shared_ptr<void> allocate_buffer(std::size_t bytes);  // uninitialised
std::shared_ptr<void> allocate_zeroed_buffer(std::size_t bytes);

}  // namespace belfry
#pragma GCC visibility pop
