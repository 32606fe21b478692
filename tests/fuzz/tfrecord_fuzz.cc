#include "belfry/dataflow/internal/tfrecord_format.h"
#include "belfry/dataflow/sources/example.h"
#include "belfry/dataflow/sources/tfrecord.h"
#include "tests/fuzz/fuzzing.h"

using namespace belfry::fuzzing;  // NOLINT(google-build-using-namespace)

// As a file, and, since checksums keep nearly all that a fuzzer makes away from what lies in records, as an Example.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const MemoryFile file(text_of(data, size));
  refused_or_read([&] {
    belfry::Flow flow = belfry::from_tfrecord(file.path());
    while (const auto point = flow.next()) touch(*point);
  });
  return refused_or_read([&] {
    const auto features = belfry::decode_example(text_of(data, size), "the fuzzer's bytes");
    for (const auto& [name, array] : features) touch(array);
    // What was read can be written, and is then read the same.
    const auto again = belfry::decode_example(belfry::encode_example(features), "what was written");
    require(again.size() == features.size());
    for (const auto& [name, array] : features) require(again.at(name).bytes() == array.bytes());
  });
}
