#include "belfry/array/internal/foreign_type.h"

#include <array>
#include <bit>
#include <limits>

#include "belfry/array/internal/stored_array.h"
#include "belfry/base/check.h"

namespace belfry {
namespace {

struct TypeFacts {
  std::string_view name;
  std::size_t size;
  DType as;
};
// In the order of ForeignType.
constexpr std::array<TypeFacts, 9> kForeignFacts{{{"f16", 2, DType::f32},
                                                  {"bf16", 2, DType::f32},
                                                  {"f8_e4m3", 1, DType::f32},
                                                  {"f8_e5m2", 1, DType::f32},
                                                  {"i8", 1, DType::i32},
                                                  {"i16", 2, DType::i32},
                                                  {"u16", 2, DType::i32},
                                                  {"u32", 4, DType::i64},
                                                  {"u64", 8, DType::i64}}};

const TypeFacts& facts_of(ForeignType type) { return kForeignFacts[static_cast<std::size_t>(type)]; }

float upper_half(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

// A float of a sign, kExponent and kMantissa bits. If it has infinities, they and NaNs have the largest exponent;
// otherwise only the two with all bits set are NaNs.
template <int kExponent, int kMantissa, bool kHasInfinities>
float small_float(std::uint32_t bits) {
  constexpr std::uint32_t kTop = (1u << kExponent) - 1, kFraction = (1u << kMantissa) - 1;
  constexpr int kBias = (1 << (kExponent - 1)) - 1, kShift = 23 - kMantissa;
  const std::uint32_t sign = (bits >> (kExponent + kMantissa)) << 31, exponent = (bits >> kMantissa) & kTop,
                      fraction = bits & kFraction;
  if (kHasInfinities && exponent == kTop) return std::bit_cast<float>(sign | 0x7f800000u | (fraction << kShift));
  if (!kHasInfinities && exponent == kTop && fraction == kFraction) return std::bit_cast<float>(sign | 0x7fc00000u);
  if (exponent != 0)
    return std::bit_cast<float>(sign | ((exponent + 127 - static_cast<std::uint32_t>(kBias)) << 23) |
                                (fraction << kShift));
  const float unit = std::bit_cast<float>(static_cast<std::uint32_t>(127 + 1 - kBias - kMantissa) << 23);
  const float value = static_cast<float>(fraction) * unit;  // exact
  return sign != 0 ? -value : value;
}

template <class From, class To, class Convert>
Array converted(const Shape& shape, std::span<const std::byte> bytes, Convert&& convert) {
  Array out(dtype_of<To>, shape);
  const std::byte* from = bytes.data();
  for (To& value : out.values<To>()) {
    value = convert(load_little_endian<From>(from));
    from += sizeof(From);
  }
  return out;
}

template <class From, class To>
Array same_numbers(const Shape& shape, std::span<const std::byte> bytes) {
  return converted<From, To>(shape, bytes, [](From x) { return static_cast<To>(x); });
}

}  // namespace

std::size_t size_of(ForeignType type) { return facts_of(type).size; }
std::string_view name_of(ForeignType type) { return facts_of(type).name; }
DType read_as(ForeignType type) { return facts_of(type).as; }

std::optional<std::uint64_t> checked_bytes(ForeignType type, const Shape& shape) {
  const DType as = read_as(type);
  const auto wide = checked_bytes(as, shape);
  if (!wide) return std::nullopt;
  return *wide / size_of(as) * size_of(type);
}

Array widened(ForeignType type, const Shape& shape, std::span<const std::byte> bytes, const std::string& where) {
  switch (type) {
    case ForeignType::f16: return converted<std::uint16_t, float>(shape, bytes, small_float<5, 10, true>);
    case ForeignType::bf16: return converted<std::uint16_t, float>(shape, bytes, upper_half);
    case ForeignType::f8_e4m3: return converted<std::uint8_t, float>(shape, bytes, small_float<4, 3, false>);
    case ForeignType::f8_e5m2: return converted<std::uint8_t, float>(shape, bytes, small_float<5, 2, true>);
    case ForeignType::i8: return same_numbers<std::int8_t, std::int32_t>(shape, bytes);
    case ForeignType::i16: return same_numbers<std::int16_t, std::int32_t>(shape, bytes);
    case ForeignType::u16: return same_numbers<std::uint16_t, std::int32_t>(shape, bytes);
    case ForeignType::u32: return same_numbers<std::uint32_t, std::int64_t>(shape, bytes);
    case ForeignType::u64: break;
  }
  return converted<std::uint64_t, std::int64_t>(shape, bytes, [&](std::uint64_t x) {
    BELFRY_CHECK_AS(FileError, x <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()),
                    "{}: expected unsigned numbers below 2^63, got {}. Belfry's integers are i32, i64 and u8.", where,
                    x);
    return static_cast<std::int64_t>(x);
  });
}

}  // namespace belfry
