#include "belfry/base/internal/buffer_pool.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "belfry/base/internal/aligned_memory.h"

namespace belfry {
namespace {

constexpr std::size_t kMegabyte = std::size_t{1} << 20;

TEST(BufferPool, UsesALargeBufferAgain) {
  BufferPool pool;
  std::shared_ptr<void> first = pool.take(4 * kMegabyte);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first.get()) % kBufferAlignment, 0u);
  void* const address = first.get();
  const std::shared_ptr<void> second = pool.take(4 * kMegabyte);
  EXPECT_NE(second.get(), address);
  first.reset();
  EXPECT_NE(pool.take(3 * kMegabyte).get(), address);  // too small a part of it
  EXPECT_EQ(pool.take(4 * kMegabyte - 100).get(), address);
}

TEST(BufferPool, BuffersOutliveIt) {
  std::shared_ptr<void> buffer;
  {
    BufferPool pool;
    buffer = pool.take(2 * kMegabyte);
  }
  static_cast<char*>(buffer.get())[2 * kMegabyte - 1] = 1;
}

TEST(BufferPool, KeepsNoMoreThanItMay) {
  BufferPool pool(1);
  std::shared_ptr<void> a = pool.take(2 * kMegabyte), b = pool.take(2 * kMegabyte);
  void* const kept = b.get();
  a.reset();
  b.reset();
  EXPECT_EQ(pool.take(2 * kMegabyte).get(), kept);
}

}  // namespace
}  // namespace belfry
