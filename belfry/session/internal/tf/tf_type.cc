#include "belfry/session/internal/tf/tf_type.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <variant>

#include "belfry/array/internal/foreign_type.h"
#include "belfry/array/internal/stored_array.h"
#include "belfry/base/check.h"

namespace belfry {
namespace {

struct Unreadable {};

struct Row {
  std::uint64_t number;
  const char* name;
  std::size_t bytes;
  std::variant<Unreadable, DType, ForeignType> read{};
};

// uint64 may hold numbers that no type of ours does; the rest of such a checkpoint is to be read.
constexpr Row kRows[] = {
    {1, "float", 4, f32},
    {2, "double", 8, f64},
    {3, "int32", 4, i32},
    {4, "uint8", 1, u8},
    {5, "int16", 2, ForeignType::i16},
    {6, "int8", 1, ForeignType::i8},
    {7, "string", 0, {}},
    {8, "complex64", 8, {}},
    {9, "int64", 8, i64},
    {10, "bool", 1, boolean},
    {11, "qint8", 1, {}},
    {12, "quint8", 1, {}},
    {13, "qint32", 4, {}},
    {14, "bfloat16", 2, ForeignType::bf16},
    {15, "qint16", 2, {}},
    {16, "quint16", 2, {}},
    {17, "uint16", 2, ForeignType::u16},
    {18, "complex128", 16, {}},
    {19, "half", 2, ForeignType::f16},
    {20, "resource", 0, {}},
    {21, "variant", 0, {}},
    {22, "uint32", 4, ForeignType::u32},
    {23, "uint64", 8, {}},
    {24, "float8_e5m2", 1, {}},
    {25, "float8_e4m3fn", 1, {}},
    {29, "int4", 1, {}},
    {30, "uint4", 1, {}},
};

const Row* row_of(std::uint64_t number) {
  const auto* const row = std::ranges::find(kRows, number, &Row::number);
  return row == std::end(kRows) ? nullptr : row;
}

}  // namespace

TfType tf_type(std::uint64_t number) {
  const Row* row = row_of(number);
  if (row == nullptr) return {.name = fmt::format("type {}", number)};
  TfType out{.name = row->name, .bytes = row->bytes};
  if (const auto* same = std::get_if<DType>(&row->read)) out.dtype = *same;
  if (const auto* foreign = std::get_if<ForeignType>(&row->read)) out.dtype = read_as(*foreign);
  return out;
}

Array array_of_tf_type(std::uint64_t number, const Shape& shape, std::span<std::byte> elements,
                       const std::shared_ptr<void>& owner, const std::string& where) {
  const TfType type = tf_type(number);
  BELFRY_BUG_IF(!type.dtype || elements.size() != static_cast<std::size_t>(shape.elements()) * type.bytes,
                "{} bytes for {} {}", elements.size(), type.name, to_string(shape));
  if (const auto* foreign = std::get_if<ForeignType>(&row_of(number)->read))
    return widened(*foreign, shape, elements, where);
  BELFRY_CHECK_AS(FileError, *type.dtype != boolean || are_booleans(elements),
                  "{}: expected booleans of 0 or 1, got another byte.", where);
  const bool is_aligned = reinterpret_cast<std::uintptr_t>(elements.data()) % type.bytes == 0;
  if (is_aligned && !elements.empty()) return Array(*type.dtype, shape, elements.data(), owner);
  Array copy(*type.dtype, shape);
  if (!elements.empty()) std::memcpy(copy.raw(), elements.data(), elements.size());
  return copy;
}

}  // namespace belfry
