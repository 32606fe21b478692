#include "belfry/array/dtype.h"

#include <array>

#include "belfry/base/check.h"

namespace belfry {
namespace {

struct Facts {
  std::string_view name;
  std::size_t bytes;
};
constexpr std::array<Facts, 6> kFacts{{{"f32", 4}, {"f64", 8}, {"i32", 4}, {"i64", 8}, {"u8", 1}, {"bool", 1}}};

}  // namespace

std::size_t size_of(DType dtype) { return kFacts[static_cast<std::size_t>(dtype)].bytes; }
std::string_view name_of(DType dtype) { return kFacts[static_cast<std::size_t>(dtype)].name; }
bool is_float(DType dtype) { return dtype == DType::f32 || dtype == DType::f64; }
bool is_integer(DType dtype) { return dtype == DType::i32 || dtype == DType::i64 || dtype == DType::u8; }

DType dtype_from_name(std::string_view name) {
  for (std::size_t i = 0; i < kFacts.size(); ++i)
    if (kFacts[i].name == name) return static_cast<DType>(i);
  fail("[dtype] expected one of f32, f64, i32, i64, u8, bool, got '{}'", name);
}

}  // namespace belfry
