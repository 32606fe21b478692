#include "belfry/dataflow/encoding.h"
#include "tests/fuzz/fuzzing.h"

using namespace belfry::fuzzing;  // NOLINT(google-build-using-namespace)

// What decode() takes is what encode() writes, byte for byte.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return refused_or_read([&] {
    const belfry::DataPoint point = belfry::decode(text_of(data, size), "the fuzzer's bytes");
    touch(point);
    require(belfry::encode(point) == text_of(data, size));
  });
}
