#include "belfry/dataflow/vocabulary.h"
#include "tests/fuzz/fuzzing.h"

using namespace belfry::fuzzing;  // NOLINT(google-build-using-namespace)

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const MemoryFile file(text_of(data, size));
  return refused_or_read([&] {
    const auto vocabulary = belfry::Vocabulary::load(file.path(), kMaxUnpacked);
    for (std::int64_t id = 0; id < vocabulary.size(); ++id) require(vocabulary.id(vocabulary.token(id)) == id);
  });
}
