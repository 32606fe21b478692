#include "belfry/dataflow/sources/idx.h"
#include "tests/fuzz/fuzzing.h"

using namespace belfry::fuzzing;  // NOLINT(google-build-using-namespace)

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const MemoryFile file(text_of(data, size));
  return refused_or_read([&] { touch(belfry::read_idx(file.path())); });
}
