#include "tests/engine/allocation_count.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <oneapi/dnnl/dnnl_types.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>

extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* old, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);
}

namespace {

constexpr int kKept = 4, kDepth = 12;  // stacks

// What the replacements below share. Trivial to construct: malloc is called before main.
struct Counts {
  std::atomic<bool> counting{false};
  std::atomic<int> inside_dnnl{0};  // oneDNN's threads allocate for it too
  std::atomic<int> ours{0}, dnnls{0};
  std::array<std::array<void*, kDepth>, kKept> stacks{};
  std::array<int, kKept> depths{};
};
constinit Counts counts;
thread_local bool looking = false;

void count() {
  if (!counts.counting.load(std::memory_order_relaxed) || looking) return;
  if (counts.inside_dnnl > 0) {
    ++counts.dnnls;
    return;
  }
  const int index = counts.ours++;
  if (index >= kKept) return;
  looking = true;
  counts.depths[static_cast<std::size_t>(index)] =
      backtrace(counts.stacks[static_cast<std::size_t>(index)].data(), kDepth);
  looking = false;
}

}  // namespace

extern "C" {

void* malloc(std::size_t size) {
  count();
  return __libc_malloc(size);
}
void* calloc(std::size_t number, std::size_t size) {
  count();
  return __libc_calloc(number, size);
}
void* realloc(void* old, std::size_t size) {
  count();
  return __libc_realloc(old, size);
}
void* memalign(std::size_t alignment, std::size_t size) {
  count();
  return __libc_memalign(alignment, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  count();
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** out, std::size_t alignment, std::size_t size) {
  count();
  *out = __libc_memalign(alignment, size);
  return *out == nullptr ? ENOMEM : 0;
}

dnnl_status_t dnnl_primitive_execute(const_dnnl_primitive_t primitive, dnnl_stream_t stream, int number,
                                     const dnnl_exec_arg_t* arguments) {
  using Execute = dnnl_status_t (*)(const_dnnl_primitive_t, dnnl_stream_t, int, const dnnl_exec_arg_t*);
  static const auto real = reinterpret_cast<Execute>(dlsym(RTLD_NEXT, "dnnl_primitive_execute"));
  ++counts.inside_dnnl;
  const dnnl_status_t status = real(primitive, stream, number, arguments);
  --counts.inside_dnnl;
  return status;
}

}  // extern "C"

namespace belfry {

Counted allocations_of(FunctionRef<void()> work) {
  counts.ours = counts.dnnls = 0;
  counts.counting = true;
  work();
  counts.counting = false;
  Counted out{counts.ours, counts.dnnls, ""};
  for (std::size_t i = 0; i < static_cast<std::size_t>(std::min(out.ours, kKept)); ++i) {
    char** names = backtrace_symbols(counts.stacks[i].data(), counts.depths[i]);
    for (int k = 2; k < counts.depths[i]; ++k) out.where += std::string("\n  ") + names[k];
    out.where += "\n";
    std::free(names);
  }
  return out;
}

}  // namespace belfry
