// In place of libFuzzer's main: runs a target on every file of the folders that are named, so that g++ builds and the
// sanitizers keep the target and its seeds working.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include "belfry/base/file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

std::vector<std::string> files_of(const char* folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) files.push_back(entry.path().string());
  std::ranges::sort(files);
  return files;
}

bool replay(const std::string& file) {
  const std::string content = belfry::read_file(file);
  // Exactly as large as the input, so that a sanitizer sees a read past its end.
  const std::vector<std::uint8_t> bytes(content.begin(), content.end());
  try {
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
    return true;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s: %s\n", file.c_str(), e.what());
    return false;
  }
}

}  // namespace

int main(int argc, char** argv) {
  int count = 0, failed = 0;
  for (int i = 1; i < argc; ++i) {
    for (const std::string& file : files_of(argv[i])) {
      ++count;
      failed += replay(file) ? 0 : 1;
    }
  }
  std::printf("%d seed(s), %d failed\n", count, failed);
  return count == 0 || failed > 0 ? 1 : 0;
}
