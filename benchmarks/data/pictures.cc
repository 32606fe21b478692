#include "benchmarks/data/pictures.h"

#include <fmt/core.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "belfry/base/random.h"
#include "belfry/dataflow/image/codecs/decode.h"

namespace belfry::bench {
namespace {

Array picture(int side, std::uint64_t seed) {
  RandomStream random(seed);
  Array out(u8, {side, side, 3});
  const auto pixels = out.values<std::uint8_t>();
  double phase[3][2];
  for (auto& channel : phase)
    for (double& p : channel) p = 6 * random.uniform();
  std::size_t at = 0;
  for (int y = 0; y < side; ++y)
    for (int x = 0; x < side; ++x)
      for (const auto& channel : phase) {
        const double wave = std::sin(9.0 * x / side + channel[0]) * std::cos(7.0 * y / side + channel[1]);
        const double value = 128 + 90 * wave + 12 * (random.bits() * 0x1p-32 - 0.5);
        pixels[at++] = static_cast<std::uint8_t>(value);
      }
  return out;
}

}  // namespace

std::vector<Array> make_jpegs(int count, int side) {
  std::vector<Array> out;
  for (int i = 0; i < count; ++i) out.push_back(encode_jpeg(picture(side, static_cast<std::uint64_t>(i)), 90));
  return out;
}

void write_jpegs(const std::string& directory, const std::vector<Array>& jpegs) {
  for (std::size_t i = 0; i < jpegs.size(); ++i) {
    const std::string folder = fmt::format("{}/class{}", directory, i % 10);
    std::filesystem::create_directories(folder);
    std::ofstream file(fmt::format("{}/{:05}.jpg", folder, i), std::ios::binary);
    file.write(static_cast<const char*>(jpegs[i].raw()), static_cast<std::streamsize>(jpegs[i].bytes()));
  }
}

}  // namespace belfry::bench
