#include "belfry/base/random.h"

#include <cmath>
#include <numbers>

namespace belfry {

std::uint64_t mix_seed(std::uint64_t a, std::uint64_t b) {
  std::uint64_t x = a + 0x9E3779B97F4A7C15ull * (b + 1);  // splitmix64's finaliser over a weighted sum
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

std::uint64_t seed_of(std::string_view name) {
  std::uint64_t hash = 0xCBF29CE484222325ull;  // FNV-1a
  for (char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ull;
  return mix_seed(hash, name.size());
}

std::uint32_t RandomStream::bits() {
  if (used_ == 4) {
    current_ = philox({static_cast<std::uint32_t>(block_), static_cast<std::uint32_t>(block_ >> 32), 0, 0}, key_);
    ++block_;
    used_ = 0;
  }
  return current_[static_cast<std::size_t>(used_++)];
}

double RandomStream::uniform() {
  const std::uint64_t high = bits(), low = bits();
  return static_cast<double>(((high << 32) | low) >> 11) * 0x1p-53;
}

double RandomStream::normal() {
  const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * uniform());
}

std::uint64_t RandomStream::below(std::uint64_t limit) {
  const std::uint64_t rejected = (0 - limit) % limit;  // values below this would favour the small results
  while (true) {
    const std::uint64_t high = bits(), value = (high << 32) | bits();
    if (value >= rejected) return value % limit;
  }
}

}  // namespace belfry
