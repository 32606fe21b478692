// Counter-based random numbers (Philox 4x32-10, Salmon et al. 2011): the i-th number is a pure function of a key and
// i, so any part of a stream can be made by any thread in any order and comes out the same.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#pragma GCC visibility push(default)
namespace belfry {

using PhiloxKey = std::array<std::uint32_t, 2>;
using PhiloxBlock = std::array<std::uint32_t, 4>;

inline PhiloxBlock philox(PhiloxBlock counter, PhiloxKey key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = 0xD2511F53ull * counter[0], b = 0xCD9E8D57ull * counter[2];
    counter = {static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b),
               static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(a)};
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return counter;
}

// Mixes two 64-bit values into one; used to derive seeds from seeds, epochs, indices.
std::uint64_t mix_seed(std::uint64_t a, std::uint64_t b);
// A seed from a name, the same on every machine and in every build.
std::uint64_t seed_of(std::string_view name);

// A sequence of numbers from one seed, for code that wants "the next one".
class RandomStream {
 public:
  explicit RandomStream(std::uint64_t seed)
      : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)} {}

  std::uint32_t bits();
  double uniform();                          // [0, 1)
  double normal();                           // mean 0, deviation 1
  std::uint64_t below(std::uint64_t limit);  // [0, limit), unbiased; limit > 0

 private:
  PhiloxKey key_;
  std::uint64_t block_ = 0;
  int used_ = 4;
  PhiloxBlock current_{};
};

}  // namespace belfry
#pragma GCC visibility pop
