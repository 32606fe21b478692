#include "belfry/dataflow/image/internal/fill.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace belfry {
namespace {

template <class T>
T rounded(double value) {
  using Limits = std::numeric_limits<T>;
  // fmax and fmin: NaN becomes the least value.
  return static_cast<T>(std::fmin(std::fmax(std::nearbyint(value), Limits::min()), Limits::max()));
}

template <class T>
std::vector<std::byte> repeated(T value, std::size_t count) {
  std::vector<std::byte> bytes(count * sizeof(T));
  for (std::size_t i = 0; i < count; ++i) std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
  return bytes;
}

}  // namespace

std::vector<std::byte> filled_bytes(double value, DType dtype, std::size_t count) {
  switch (dtype) {
    case DType::u8: return repeated(rounded<std::uint8_t>(value), count);
    case DType::i32: return repeated(rounded<std::int32_t>(value), count);
    default: return repeated(static_cast<float>(value), count);
  }
}

}  // namespace belfry
