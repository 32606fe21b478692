#include "belfry/array/npz.h"
#include "belfry/dataflow/sources/npz.h"
#include "tests/fuzz/fuzzing.h"

using namespace belfry::fuzzing;  // NOLINT(google-build-using-namespace)

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const MemoryFile file(text_of(data, size));
  refused_or_read([&] { touch(belfry::read_npy(file.path())); });
  refused_or_read([&] {
    for (const auto& [name, array] : belfry::read_npz(file.path())) touch(array);
  });
  return refused_or_read([&] {
    belfry::Flow flow = belfry::from_npz(file.path());
    // Rows without elements cost a file nothing: there may be as many as numbers reach.
    if (flow.known_size() <= 100'000) touch(flow);
  });
}
