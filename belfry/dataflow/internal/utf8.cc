#include "belfry/dataflow/internal/utf8.h"

#include <cstdint>

#include "belfry/base/check.h"

namespace belfry {
namespace {

// By its first byte: the length of a character, and the range of its second byte. Later bytes are 80 to bf.
struct Lead {
  std::size_t length = 0;
  std::uint8_t low = 0x80, high = 0xbf;
};

Lead lead_of(std::uint8_t first) {
  if (first < 0x80) return {.length = 1};
  if (first < 0xc2) return {};  // a later byte, or the long form of ASCII
  if (first < 0xe0) return {.length = 2};
  if (first == 0xe0) return {.length = 3, .low = 0xa0};   // below: long forms
  if (first == 0xed) return {.length = 3, .high = 0x9f};  // above: surrogates
  if (first < 0xf0) return {.length = 3};
  if (first == 0xf0) return {.length = 4, .low = 0x90};  // below: long forms
  if (first < 0xf4) return {.length = 4};
  if (first == 0xf4) return {.length = 4, .high = 0x8f};  // above: beyond U+10FFFF
  return {};
}

}  // namespace

std::size_t utf8_length(std::string_view text) {
  if (text.empty()) return 0;
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const Lead lead = lead_of(byte(0));
  if (text.size() < lead.length) return 0;
  for (std::size_t i = 1; i < lead.length; ++i) {
    const bool second = i == 1;
    if (byte(i) < (second ? lead.low : 0x80) || byte(i) > (second ? lead.high : 0xbf)) return 0;
  }
  return lead.length;
}

void check_utf8(std::string_view text, const char* reader, std::string_view name) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text.substr(at));
    BELFRY_CHECK_AS(FileError, length > 0,
                    "[{}] expected UTF-8, got other bytes, beginning with {:#04x}, at position {} of '{}'. Convert it, "
                    "with iconv for example.",
                    reader, static_cast<std::uint8_t>(text[at]), at, name);
    at += length;
  }
}

}  // namespace belfry
