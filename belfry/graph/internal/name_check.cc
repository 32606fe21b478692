#include "belfry/graph/internal/name_check.h"

#include <algorithm>
#include <cctype>

#include "belfry/base/check.h"

namespace belfry {

void check_name(std::string_view name, std::string_view title, const Location& where) {
  const bool characters = std::ranges::all_of(name, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || std::string_view("_-./").find(c) != std::string_view::npos;
  });
  const bool parts =
      !name.empty() && name.front() != '/' && name.back() != '/' && name.find("//") == std::string_view::npos;
  BELFRY_CHECK(characters && parts,
               "{} expected a name of letters, digits, '_', '-', '.' and single '/' between them, got '{}' (at {}). "
               "Choose another name.",
               title, name, to_string(where));
}

}  // namespace belfry
