#include "belfry/engine/cpu/memory/arena.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "belfry/base/check.h"

namespace belfry {

Arena::Arena(For whom) {
  if (whom == For::all_plans)
    reserve(static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)));
}

void Arena::reserve(std::size_t bytes) {
  reserved_ = bytes;
  void* base = mmap(nullptr, reserved_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  BELFRY_CHECK(
      base != MAP_FAILED,
      "[session] expected to reserve {} bytes of address space, got: {}. Raise 'ulimit -v' or vm.overcommit_memory.",
      reserved_, std::strerror(errno));
  base_ = static_cast<std::byte*>(base);
  madvise(base_, reserved_, MADV_HUGEPAGE);  // a hint: fewer page-table misses on large activations
}

Arena::~Arena() {
  if (base_ != nullptr) munmap(base_, reserved_);
}

std::byte* Arena::require(std::size_t bytes) {
  if (base_ == nullptr) reserve(std::max<std::size_t>(bytes, 1));
  BELFRY_CHECK(
      bytes <= reserved_,
      "[session] expected a step that fits into memory ({} bytes), got one that needs {}. Use a smaller batch.",
      reserved_, bytes);
  required_ = std::max(required_, bytes);
  return base_;
}

}  // namespace belfry
