// What the readers of array files share: sizes and values that come from outside and are checked before use.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include "belfry/base/internal/quotes.h"

#pragma GCC visibility push(default)
namespace belfry {

static_assert(std::endian::native == std::endian::little, "the file formats here are little-endian, read in place");

// The caller has checked that sizeof(T) bytes are there.
template <class T>
T load_little_endian(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <class T>
void append_little_endian(std::string& to, T value) {
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  to.append(bytes, sizeof value);
}

// Whether every byte is 0 or 1: reading any other as a C++ bool is undefined.
bool are_booleans(std::span<const std::byte> bytes);

}  // namespace belfry
#pragma GCC visibility pop
