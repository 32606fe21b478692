// The first byte says what follows: 0 the two files of a checkpoint, 1 the entries of a table whose checksums are made
// right, and the data file, 2 a block that snappy packed. Of two parts the first begins with its length, in two bytes.
#include "belfry/base/log.h"
#include "belfry/session/internal/tf/snappy.h"
#include "belfry/session/tf_checkpoint.h"
#include "tests/fuzz/fuzzing.h"
#include "tests/support/tf_tables.h"

using namespace belfry::fuzzing;  // NOLINT(google-build-using-namespace)

namespace {

// Kept from input to input.
struct Files {
  MemoryFile index{""}, data{""};
  belfry::tools::ScratchDirectory folder;

  Files() {
    require(::symlink(index.path().c_str(), (folder.path() + "/m.index").c_str()) == 0);
    require(::symlink(data.path().c_str(), (folder.path() + "/m.data-00000-of-00001").c_str()) == 0);
  }
};

void read(std::string_view index, std::string_view data) {
  static Files files;
  files.index.replace(index);
  files.data.replace(data);
  const std::string path = files.folder.path() + "/m";
  refused_or_read([&] { belfry::list_tf_checkpoint(path); });
  refused_or_read([&] {
    std::uint64_t bytes = 0;
    for (const auto& [name, array] : belfry::read_tf_checkpoint(path)) {
      touch(array);
      bytes += array.bytes();
    }
    require(bytes <= 4 * data.size());  // int8 becomes i32
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const belfry::LogMute mute;
  std::string_view input = text_of(bytes, size);
  if (input.size() < 3) return 0;
  const char kind = input[0];
  if (kind == 2) return refused_or_read([&] { belfry::unpack_snappy(input.substr(1), "an input"); });
  const std::size_t length = bytes[1] | bytes[2] << 8;
  input.remove_prefix(3);
  const std::string_view first = input.substr(0, length), second = input.substr(first.size());
  read(kind == 1 ? belfry::testing_support::tf_table(std::string(first)) : std::string(first), second);
  return 0;
}
