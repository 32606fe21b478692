#include "belfry/dataflow/sources/svmlight.h"
#include "tests/fuzz/fuzzing.h"

using namespace belfry::fuzzing;  // NOLINT(google-build-using-namespace)

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const MemoryFile file(text_of(data, size));
  using Options = belfry::SvmlightOptions;
  for (Options options : {Options{}, Options{.features = 20, .zero_based = true, .label = belfry::i32},
                          Options{.features = 20, .multilabel = true}})
    refused_or_read([&] {
      options.max_unpacked_bytes = kMaxUnpacked;
      belfry::Flow flow = belfry::from_svmlight(file.path(), options);
      // Dense rows of millions of features are what was asked for, but would be all of a fuzzer's time.
      if (flow->random_access()->row_spec()->at(0).shape.elements() <= 10'000 &&
          flow->random_access()->row_spec()->at(1).shape.elements() <= 10'000)
        touch(flow);
    });
  return 0;
}
