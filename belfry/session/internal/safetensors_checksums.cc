#include "belfry/session/internal/safetensors_checksums.h"

#include <charconv>
#include <span>

#include "belfry/array/internal/stored_array.h"
#include "belfry/base/check.h"
#include "belfry/base/internal/crc32c.h"

namespace belfry {
namespace {

constexpr std::string_view kZeros = "00000000";
constexpr std::size_t kDigits = kZeros.size();
constexpr std::size_t kEach = kDigits + 1;  // with the blank behind it

std::uint32_t crc_of(std::string_view text, std::uint32_t before) {
  return crc32c(std::as_bytes(std::span(text.data(), text.size())), before);
}

// Upper-case digits are refused: one flipped bit makes them of lower-case ones.
bool is_digit(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

}  // namespace

std::string blank_checksums(std::size_t tensors) {
  std::string out(kZeros);
  for (std::size_t i = 0; i < tensors; ++i) out.append(1, ' ').append(kZeros);
  return out;
}

// In JSON, a quote behind a bracket or a comma begins a text, or ends one that a colon, a bracket or a comma follows:
// so no name and no text can look like this.
std::size_t find_checksums(std::string_view header) {
  for (const char before : {'{', ','}) {
    const std::string pattern = fmt::format("{}\"{}\":\"", before, kChecksums);
    if (const std::size_t at = header.find(pattern); at != std::string_view::npos) return at + pattern.size();
  }
  return std::string_view::npos;
}

void put_checksum(std::string& header, std::size_t digits, std::size_t number, std::uint32_t checksum) {
  header.replace(digits + number * kEach, kDigits, fmt::format("{:08x}", checksum));
}

std::uint32_t header_checksum(std::string_view header, std::size_t digits) {
  std::string length;
  append_little_endian<std::uint64_t>(length, header.size());
  const std::uint32_t front = crc_of(header.substr(0, digits), crc_of(length, 0));
  return crc_of(header.substr(digits + kDigits), crc_of(kZeros, front));
}

std::vector<std::uint32_t> parse_checksums(std::string_view text, std::size_t tensors, const std::string& path) {
  std::vector<std::uint32_t> out;
  bool is_valid = text.size() == tensors * kEach + kDigits;
  for (std::size_t at = 0; is_valid && at < text.size(); at += kEach) {
    const std::string_view digits = text.substr(at, kDigits);
    for (const char digit : digits) is_valid = is_valid && is_digit(digit);
    is_valid = is_valid && (at + kDigits == text.size() || text[at + kDigits] == ' ');
    std::uint32_t checksum = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), checksum, 16);
    out.push_back(checksum);
  }
  BELFRY_CHECK_AS(FileError, is_valid,
                  "[safetensors] '{}': expected checksums of the header and {} tensors in '{}', got {}. The file is "
                  "damaged.",
                  path, tensors, kChecksums, in_quotes(text));
  return out;
}

}  // namespace belfry
