#include "belfry/base/internal/aligned_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <new>
#include <span>

namespace belfry {
namespace {

TEST(AlignedMemory, BuffersAreAlignedAndHoldWholeVectors) {
  for (const std::size_t bytes : {0, 1, 63, 64, 65, 1000}) {
    const std::shared_ptr<void> buffer = allocate_zeroed_buffer(bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.get()) % kBufferAlignment, 0u);
    const std::size_t whole = std::max<std::size_t>(64, (bytes + 63) / 64 * 64);
    const std::span all(static_cast<const unsigned char*>(buffer.get()), whole);  // a sanitizer watches its end
    EXPECT_TRUE(std::ranges::all_of(all, [](unsigned char c) { return c == 0; })) << bytes;
  }
}

TEST(AlignedMemory, ASizeThatCannotBeRoundedUpIsRefused) {
  EXPECT_THROW(allocate_buffer(std::numeric_limits<std::size_t>::max() - 10), std::bad_alloc);
}

}  // namespace
}  // namespace belfry
