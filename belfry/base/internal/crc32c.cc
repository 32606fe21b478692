#include "belfry/base/internal/crc32c.h"

#include <array>
#include <cstring>

#include "belfry/base/internal/crc32c_table.h"

#ifdef __SSE4_2__
#include <nmmintrin.h>
#endif

namespace belfry {
namespace {

constexpr std::uint32_t kPolynomial = 0x82F63B78;  // Castagnoli's, bits reversed

// What a byte does to the checksum.
constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
    table[byte] = crc;
  }
  return table;
}
constexpr std::array<std::uint32_t, 256> kTable = make_table();

}  // namespace

std::uint32_t crc32c_by_table(std::span<const std::byte> bytes, std::uint32_t before) {
  std::uint32_t crc = ~before;
  for (const std::byte byte : bytes) crc = (crc >> 8) ^ kTable[(crc ^ std::to_integer<std::uint32_t>(byte)) & 0xff];
  return ~crc;
}

#ifdef __SSE4_2__
namespace {

constexpr std::size_t kWord = sizeof(std::uint64_t);
constexpr std::size_t kStretch = 2048;  // bytes that one of three chains takes at a time

constexpr std::uint32_t after_zeros(std::uint32_t crc, std::size_t bytes) {
  for (; bytes > 0; --bytes) crc = (crc >> 8) ^ kTable[crc & 0xff];
  return crc;
}

// What a stretch of zeros does to a checksum, by each of its four bytes: the register is linear in its bits.
using Shift = std::array<std::array<std::uint32_t, 256>, 4>;
constexpr Shift make_shift() {
  std::array<std::uint32_t, 32> of_bit{};
  for (std::uint32_t bit = 0; bit < 32; ++bit) of_bit[bit] = after_zeros(std::uint32_t{1} << bit, kStretch);
  Shift shift{};
  for (std::uint32_t place = 0; place < 4; ++place)
    for (std::uint32_t byte = 0; byte < 256; ++byte)
      for (std::uint32_t bit = 0; bit < 8; ++bit)
        if ((byte >> bit & 1) != 0) shift[place][byte] ^= of_bit[place * 8 + bit];
  return shift;
}
constexpr Shift kShift = make_shift();

std::uint64_t over_a_stretch(std::uint64_t crc) {
  return kShift[0][crc & 0xff] ^ kShift[1][crc >> 8 & 0xff] ^ kShift[2][crc >> 16 & 0xff] ^ kShift[3][crc >> 24];
}

std::uint64_t word_at(const std::byte* at) {
  std::uint64_t word = 0;
  std::memcpy(&word, at, sizeof word);
  return word;
}

}  // namespace

// Every CPU that runs a build for x86-64-v3 has the instruction: there is nothing to find out when the program starts.
// It takes one word a cycle but gives its result two cycles later, so long inputs go through three chains at once.
std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before) {
  std::uint64_t crc = ~before;
  const std::byte* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 3 * kStretch; left -= 3 * kStretch, at += 3 * kStretch) {
    std::uint64_t second = 0, third = 0;
    for (std::size_t i = 0; i < kStretch; i += kWord) {
      crc = _mm_crc32_u64(crc, word_at(at + i));
      second = _mm_crc32_u64(second, word_at(at + kStretch + i));
      third = _mm_crc32_u64(third, word_at(at + 2 * kStretch + i));
    }
    crc = over_a_stretch(over_a_stretch(crc) ^ second) ^ third;
  }
  for (; left >= kWord; left -= kWord, at += kWord) crc = _mm_crc32_u64(crc, word_at(at));
  auto rest = static_cast<std::uint32_t>(crc);
  for (; left > 0; --left, ++at) rest = _mm_crc32_u8(rest, std::to_integer<std::uint8_t>(*at));
  return ~rest;
}
#else
std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before) { return crc32c_by_table(bytes, before); }
#endif

}  // namespace belfry
