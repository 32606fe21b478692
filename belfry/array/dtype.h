// The element types of arrays and tensors. f32 computes; f64 serves gradient checks; the others carry data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#pragma GCC visibility push(default)
namespace belfry {

enum class DType : std::uint8_t { f32, f64, i32, i64, u8, boolean };

inline constexpr DType f32 = DType::f32;
inline constexpr DType f64 = DType::f64;
inline constexpr DType i32 = DType::i32;
inline constexpr DType i64 = DType::i64;
inline constexpr DType u8 = DType::u8;
inline constexpr DType boolean = DType::boolean;

std::size_t size_of(DType dtype);
std::string_view name_of(DType dtype);         // "f32", "bool", ...
DType dtype_from_name(std::string_view name);  // throws on an unknown name
bool is_float(DType dtype);
bool is_integer(DType dtype);  // i32, i64, u8

// dtype_of<float> == DType::f32, and so on; booleans are stored as one byte, 0 or 1.
template <class T> struct DTypeOf;
template <> struct DTypeOf<float> {
  static constexpr DType value = DType::f32;
};
template <> struct DTypeOf<double> {
  static constexpr DType value = DType::f64;
};
template <> struct DTypeOf<std::int32_t> {
  static constexpr DType value = DType::i32;
};
template <> struct DTypeOf<std::int64_t> {
  static constexpr DType value = DType::i64;
};
template <> struct DTypeOf<std::uint8_t> {
  static constexpr DType value = DType::u8;
};
template <> struct DTypeOf<bool> {
  static constexpr DType value = DType::boolean;
};
template <class T> inline constexpr DType dtype_of = DTypeOf<T>::value;

}  // namespace belfry
#pragma GCC visibility pop
