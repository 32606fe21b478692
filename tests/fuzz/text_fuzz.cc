#include "belfry/dataflow/sources/text.h"
#include "tests/fuzz/fuzzing.h"

using namespace belfry::fuzzing;  // NOLINT(google-build-using-namespace)

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = text_of(data, size);
  const MemoryFile file(text);
  for (const belfry::TextUnit unit : {belfry::TextUnit::words, belfry::TextUnit::characters, belfry::TextUnit::lines})
    refused_or_read([&] {
      const auto vocabulary =
          belfry::Vocabulary::from_files({file.path()}, {.unit = unit, .max_unpacked_bytes = kMaxUnpacked});
      belfry::TextOptions options{.vocabulary = vocabulary, .max_unpacked_bytes = kMaxUnpacked};
      options.by_line = true;
      touch(belfry::from_text(file.path(), options));
      options.by_line = false;
      options.sequence_length = 3;
      options.targets = true;
      touch(belfry::from_text(file.path(), options));
      const bool gzipped = text.starts_with("\x1f\x8b");
      if (unit == belfry::TextUnit::characters && !gzipped) require(vocabulary.decode(vocabulary.encode(text)) == text);
    });
  return 0;
}
