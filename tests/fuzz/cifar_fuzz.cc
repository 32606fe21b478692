#include "belfry/dataflow/sources/cifar.h"
#include "tests/fuzz/fuzzing.h"

using namespace belfry::fuzzing;  // NOLINT(google-build-using-namespace)

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static MemoryFolder ten("test_batch.bin"), hundred("test.bin");
  for (MemoryFolder* folder : {&ten, &hundred}) folder->file().replace(text_of(data, size));
  refused_or_read([&] { touch(belfry::cifar10(ten.path(), "test")); });
  return refused_or_read([&] { touch(belfry::cifar100(hundred.path(), "test")); });
}
