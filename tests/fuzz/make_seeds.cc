// Writes the seeds of tests/fuzz/corpus anew: fuzz_make_seeds FOLDER. Small files that are right, and a few that are
// nearly: what fuzzers start from.
#include <cstdio>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "belfry/dataflow/encoding.h"
#include "tests/dataflow/idx_files.h"
#include "tests/support/files.h"

namespace belfry {
namespace {

using Seeds = std::vector<std::pair<std::string, std::string>>;  // name, bytes

Seeds idx_seeds() {
  const std::string bytes = idx_bytes(0x08, {2, 3}, "abcdef"),
                    numbers = idx_bytes(0x0C, {2, 1, 2}, std::string(16, '\1'));
  return {{"bytes", bytes},
          {"integers", numbers},
          {"doubles", idx_bytes(0x0E, {1}, std::string(8, '\2'))},
          {"scalar", idx_bytes(0x0D, {}, "1234")},
          {"empty", idx_bytes(0x0D, {0, 7}, "")},
          {"gzipped", gzip(numbers)},
          {"two_members", gzip(bytes.substr(0, 9)) + gzip(bytes.substr(9))},
          {"truncated", numbers.substr(0, 20)},
          {"huge", idx_bytes(0x0D, {0x7fffffff, 0x7fffffff, 0x7fffffff}, "1234")}};
}

Seeds encoding_seeds() {
  const std::string point = encode({Array(3), Array::of<float>({2, 2}, {1, 2, 3, 4})});
  return {{"point", point},
          {"empty", encode({})},
          {"types", encode({Array(1.5), Array(true), Array(std::int64_t{-1}), Array(u8, {0, 3})})},
          {"truncated", point.substr(0, point.size() - 3)}};
}

void write_seeds(const std::string& folder, const std::string& target, const Seeds& seeds) {
  std::filesystem::create_directories(folder + "/" + target);
  for (const auto& [name, bytes] : seeds) testing_support::put_bytes(folder + "/" + target + "/" + name, bytes);
}

}  // namespace
}  // namespace belfry

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: fuzz_make_seeds FOLDER\n");
    return 2;
  }
  belfry::write_seeds(argv[1], "idx", belfry::idx_seeds());
  belfry::write_seeds(argv[1], "encoding", belfry::encoding_seeds());
}
