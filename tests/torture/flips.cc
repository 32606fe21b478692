#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "belfry/base/error.h"
#include "belfry/base/file.h"
#include "belfry/base/random.h"
#include "tests/torture/campaigns.h"
#include "tests/torture/checkpoints.h"

namespace belfry::torture {
namespace {

void put(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

bool loads(const std::string& checkpoint) try {
  load_checkpoint(checkpoint);
  return true;
} catch (const FileError&) {
  return false;
}

}  // namespace

Outcome flips(std::int64_t count, std::uint64_t seed) {
  const FastDirectory directory;
  const std::string whole = directory.path() + "/whole", sharded = directory.path() + "/sharded";
  CheckpointWriter({.directory = whole}).write(5, values_of(5, 300), {.epoch = 2, .user = {{"data", "position 4"}}});
  CheckpointWriter({.directory = sharded, .shard_bytes = 1000}).write(5, values_of(5, 300), {.epoch = 2});
  std::vector<std::string> files;
  for (const std::string& place : {whole, sharded})
    for (const auto& entry : std::filesystem::directory_iterator(place))
      if (entry.path().extension() == ".safetensors") files.push_back(entry.path().string());

  RandomStream random(seed);
  Outcome out;
  for (; out.tries < count; ++out.tries) {
    const std::string& file = files[random.below(files.size())];
    const std::string good = read_file(file);
    std::string bad = good;
    const std::uint64_t bit = random.below(8 * good.size());
    bad[bit / 8] ^= static_cast<char>(1 << bit % 8);
    put(file, bad);
    if (loads(std::filesystem::path(file).parent_path().string() + "/model-5")) {
      ++out.bad;
      report(fmt::format("flips: bit {} of byte {} of '{}' was not noticed", bit % 8, bit / 8, file));
    }
    put(file, good);
  }
  return out;
}

}  // namespace belfry::torture
