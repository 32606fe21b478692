#include "belfry/base/internal/alternate_stack.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "belfry/base/log.h"

namespace belfry {

AlternateStack::AlternateStack() {
  stack_t present{};
  if (::sigaltstack(nullptr, &present) != 0 || (present.ss_flags & SS_DISABLE) == 0) return;
  constexpr long kLeast = 64 << 10;
  const auto size = static_cast<std::size_t>(std::max(::sysconf(_SC_SIGSTKSZ), kLeast));
  void* const memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    log_debug("[signals] no memory for a thread's alternate stack");
    return;
  }
  memory_ = memory;
  size_ = size;
  stack_t own{};
  own.ss_sp = memory_;
  own.ss_size = size_;
  ::sigaltstack(&own, nullptr);
}

AlternateStack::~AlternateStack() {
  if (memory_ == nullptr) return;
  stack_t present{};
  ::sigaltstack(nullptr, &present);
  if (present.ss_sp == memory_) {
    present.ss_flags = SS_DISABLE;
    ::sigaltstack(&present, nullptr);
  }
  ::munmap(memory_, size_);
}

}  // namespace belfry
