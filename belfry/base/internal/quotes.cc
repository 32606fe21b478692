#include "belfry/base/internal/quotes.h"

#include <fmt/format.h>

namespace belfry {

std::string in_quotes(std::string_view name) {
  constexpr std::size_t kLongest = 100;
  return fmt::format("'{}{}'", name.substr(0, kLongest), name.size() > kLongest ? "..." : "");
}

}  // namespace belfry
