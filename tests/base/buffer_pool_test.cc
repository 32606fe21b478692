#include "belfry/base/buffer_pool.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <new>
#include <vector>

#include "belfry/base/aligned_memory.h"

namespace {

thread_local bool no_memory = false;

}  // namespace

// Of the whole program: so that memory can run out at a chosen moment.
void* operator new(std::size_t bytes) {
  void* const memory = no_memory ? nullptr : std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return no_memory ? nullptr : std::malloc(bytes == 0 ? 1 : bytes);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

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

TEST(BufferPool, FreeingABufferTakesNoMemory) {
  BufferPool pool(2);
  std::vector<std::shared_ptr<void>> buffers;
  for (int i = 0; i < 4; ++i) buffers.push_back(pool.take(2 * kMegabyte));
  void* const last = buffers.back().get();
  no_memory = true;  // an exception of a deleter would end the program
  for (std::shared_ptr<void>& buffer : buffers) buffer.reset();
  no_memory = false;
  const std::shared_ptr<void> first = pool.take(2 * kMegabyte), second = pool.take(2 * kMegabyte);
  EXPECT_TRUE(first.get() == last || second.get() == last);
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
