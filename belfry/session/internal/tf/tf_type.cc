#include "belfry/session/internal/tf/tf_type.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "belfry/array/internal/stored_array.h"
#include "belfry/base/check.h"

namespace belfry {
namespace {

enum Number : std::uint64_t { kInt16 = 5, kInt8 = 6, kBfloat16 = 14, kUint16 = 17, kHalf = 19, kUint32 = 22 };

struct Row {
  std::uint64_t number;
  const char* name;
  std::size_t bytes;
  std::optional<DType> dtype;
};

constexpr Row kRows[] = {
    {1, "float", 4, f32},         {2, "double", 8, f64},
    {3, "int32", 4, i32},         {4, "uint8", 1, u8},
    {kInt16, "int16", 2, i32},    {kInt8, "int8", 1, i32},
    {7, "string", 0, {}},         {8, "complex64", 8, {}},
    {9, "int64", 8, i64},         {10, "bool", 1, boolean},
    {11, "qint8", 1, {}},         {12, "quint8", 1, {}},
    {13, "qint32", 4, {}},        {kBfloat16, "bfloat16", 2, f32},
    {15, "qint16", 2, {}},        {16, "quint16", 2, {}},
    {kUint16, "uint16", 2, i32},  {18, "complex128", 16, {}},
    {kHalf, "half", 2, f32},      {20, "resource", 0, {}},
    {21, "variant", 0, {}},       {kUint32, "uint32", 4, i64},
    {23, "uint64", 8, {}},        {24, "float8_e5m2", 1, {}},
    {25, "float8_e4m3fn", 1, {}}, {29, "int4", 1, {}},
    {30, "uint4", 1, {}},
};

template <class From, class Convert>
Array converted(DType dtype, const Shape& shape, std::span<const std::byte> elements, Convert&& convert) {
  using To = decltype(convert(From{}));
  Array out(dtype, shape);
  const std::byte* from = elements.data();
  for (To& value : out.values<To>()) {
    value = convert(load_little_endian<From>(from));
    from += sizeof(From);
  }
  return out;
}

template <class To>
constexpr auto kWiden = [](auto value) { return static_cast<To>(value); };

}  // namespace

TfType tf_type(std::uint64_t number) {
  const auto* const row = std::ranges::find(kRows, number, &Row::number);
  if (row == std::end(kRows)) return {.name = fmt::format("type {}", number)};
  return {.name = row->name, .bytes = row->bytes, .dtype = row->dtype};
}

// 1 bit sign, 5 exponent, 10 mantissa.
float float_of_half(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000u) << 16, exponent = bits >> 10 & 0x1fu, mantissa = bits & 0x3ffu;
  if (exponent == 0) {  // mantissa * 2^-24
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return sign != 0 ? -magnitude : magnitude;
  }
  const std::uint32_t wide = exponent == 0x1f ? 0xff : exponent + 127 - 15;
  return std::bit_cast<float>(sign | wide << 23 | mantissa << 13);
}

float float_of_bfloat16(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

std::optional<Array> array_of_tf_type(std::uint64_t number, const Shape& shape, std::span<std::byte> elements,
                                      const std::shared_ptr<void>& owner) {
  const TfType type = tf_type(number);
  BELFRY_BUG_IF(!type.dtype || elements.size() != static_cast<std::size_t>(shape.elements()) * type.bytes,
                "{} bytes for {} {}", elements.size(), type.name, to_string(shape));
  switch (number) {
    case kInt16: return converted<std::int16_t>(i32, shape, elements, kWiden<std::int32_t>);
    case kInt8: return converted<std::int8_t>(i32, shape, elements, kWiden<std::int32_t>);
    case kUint16: return converted<std::uint16_t>(i32, shape, elements, kWiden<std::int32_t>);
    case kUint32: return converted<std::uint32_t>(i64, shape, elements, kWiden<std::int64_t>);
    case kBfloat16: return converted<std::uint16_t>(f32, shape, elements, float_of_bfloat16);
    case kHalf: return converted<std::uint16_t>(f32, shape, elements, float_of_half);
    default: break;
  }
  if (*type.dtype == boolean && !are_booleans(elements)) return std::nullopt;
  const bool is_aligned = reinterpret_cast<std::uintptr_t>(elements.data()) % type.bytes == 0;
  if (is_aligned && !elements.empty()) return Array(*type.dtype, shape, elements.data(), owner);
  Array copy(*type.dtype, shape);
  if (!elements.empty()) std::memcpy(copy.raw(), elements.data(), elements.size());
  return copy;
}

}  // namespace belfry
