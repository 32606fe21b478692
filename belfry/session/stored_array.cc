#include "belfry/session/stored_array.h"

#include <fmt/core.h>

#include <algorithm>

namespace belfry {

std::optional<std::uint64_t> checked_bytes(DType dtype, const Shape& shape) {
  std::int64_t bytes = static_cast<std::int64_t>(size_of(dtype));
  bool empty = false;
  for (const std::int64_t dim : shape) {
    empty = empty || dim == 0;
    if (__builtin_mul_overflow(bytes, std::max<std::int64_t>(dim, 1), &bytes)) return std::nullopt;
  }
  return empty ? 0 : static_cast<std::uint64_t>(bytes);
}

bool are_booleans(std::span<const std::byte> bytes) {
  return std::ranges::all_of(bytes, [](std::byte b) { return b <= std::byte{1}; });
}

std::string in_quotes(std::string_view name) {
  constexpr std::size_t kLongest = 100;
  return fmt::format("'{}{}'", name.substr(0, kLongest), name.size() > kLongest ? "..." : "");
}

}  // namespace belfry
