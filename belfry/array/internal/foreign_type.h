// Element types that other programs write and Belfry does not have: each is read as one of ours that holds all of its
// values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "belfry/array/array.h"

#pragma GCC visibility push(default)
namespace belfry {

enum class ForeignType : std::uint8_t {
  f16,
  bf16,     // the upper half of an f32
  f8_e4m3,  // without infinities
  f8_e5m2,
  i8,
  i16,
  u16,
  u32,
  u64,  // read as i64: numbers from 2^63 on are refused
};

std::size_t size_of(ForeignType type);
std::string_view name_of(ForeignType type);
DType read_as(ForeignType type);  // f32 for floats, i64 for u32 and u64, otherwise i32

// Bytes of an array of this shape, and those it has when it is read; nullopt if either does not fit 63 bits.
std::optional<std::uint64_t> checked_bytes(ForeignType type, const Shape& shape);

// `bytes` are little-endian and as many as checked_bytes() says; they need not be aligned. `where` begins the text of a
// FileError.
Array widened(ForeignType type, const Shape& shape, std::span<const std::byte> bytes, const std::string& where);

}  // namespace belfry
#pragma GCC visibility pop
