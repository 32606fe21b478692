#include <algorithm>
#include <cstdlib>
#include <new>

#include "belfry/base/log.h"
#include "belfry/session/checkpoint.h"
#include "belfry/session/internal/checkpoint_files.h"
#include "belfry/session/safetensors.h"
#include "tests/fuzz/fuzzing.h"

using namespace belfry::fuzzing;  // NOLINT(google-build-using-namespace)

namespace {

std::size_t largest = 0;  // that was asked for at once

}  // namespace

void* operator new(std::size_t bytes) {
  largest = std::max(largest, bytes);
  void* memory = std::malloc(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static MemoryFolder folder("model-1.safetensors");
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
  constexpr std::size_t kTexts = 16 * 1024;  // of errors and paths
  require(largest <= std::max(2 * size, kTexts));
  return 0;
}
