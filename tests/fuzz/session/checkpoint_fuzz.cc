#include <algorithm>
#include <cstddef>

#include "belfry/base/log.h"
#include "belfry/session/checkpoint.h"
#include "belfry/session/internal/checkpoint_files.h"
#include "belfry/session/safetensors.h"
#include "tests/fuzz/fuzzing.h"

using namespace belfry::fuzzing;  // NOLINT(google-build-using-namespace)

// Of the sanitizers' library, where the program has it.
extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*made)(const volatile void*, std::size_t),
                                                         void (*freed)(const volatile void*)) __attribute__((weak));

namespace {

std::size_t largest = 0;  // memory that was asked for at once

void note(const volatile void*, std::size_t bytes) { largest = std::max(largest, bytes); }

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static MemoryFolder folder("model-1.safetensors");
  static const bool hooked = __sanitizer_install_malloc_and_free_hooks != nullptr &&
                             __sanitizer_install_malloc_and_free_hooks(note, [](const volatile void*) {}) != 0;
  const std::string_view text = text_of(data, size);
  const belfry::LogRedirect silent([](belfry::LogLevel, std::string_view) {}, belfry::LogLevel::error);
  folder.file().replace(text);
  largest = 0;
  const std::string name = folder.path() + "/model-1";
  refused_or_read([&] {
    for (const auto& [key, array] : belfry::load_values(name).tensors) touch(array);
  });
  refused_or_read([&] { belfry::load_checkpoint(name); });
  refused_or_read([&] { belfry::list_safetensors(name + ".safetensors"); });
  refused_or_read([&] { require(belfry::list_checkpoints(folder.path()).size() == 1); });
  refused_or_read([&] { belfry::load_latest_checkpoint(folder.path()); });
  refused_or_read([&] { belfry::shards_from_json(text, "model-1", "here"); });
  refused_or_read([&] { belfry::checkpoint_state_from_json(text, "here"); });
  constexpr std::size_t kListing = 64 * 1024;  // the C library's, of a directory
  require(!hooked || largest <= std::max(2 * size, kListing));
  return 0;
}
