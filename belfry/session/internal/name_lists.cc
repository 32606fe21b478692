#include "belfry/session/internal/name_lists.h"

#include <fmt/format.h>

#include <map>

#include "belfry/base/internal/quotes.h"

namespace belfry {

std::string list_of(const Names& names) {
  std::string out;
  for (const std::string& name : names) out += fmt::format("{}{}", out.empty() ? "" : ", ", in_quotes(name));
  return out;
}

std::string some_of(const Names& names) {
  constexpr std::size_t kNamed = 5;
  if (names.empty()) return "none";
  if (names.size() <= kNamed) return list_of(names);
  return fmt::format("{} and {} more", list_of({names.begin(), names.begin() + kNamed}), names.size() - kNamed);
}

std::string by_scope(const Names& names) {
  constexpr std::size_t kFew = 8;
  if (names.size() <= kFew) return list_of(names);
  std::map<std::string, std::string> scopes;  // and what is in each
  for (const std::string& name : names) {
    const std::size_t slash = name.rfind('/');
    const bool is_bare = slash == std::string::npos;
    std::string& members = scopes[is_bare ? name : name.substr(0, slash)];
    if (!is_bare) members += fmt::format("{}{}", members.empty() ? "" : ", ", name.substr(slash + 1));
  }
  std::string out;
  std::size_t shown = 0;
  for (const auto& [scope, members] : scopes) {
    if (++shown > kFew) return fmt::format("{} and {} more scopes", out, scopes.size() - kFew);
    out += fmt::format("{}{}", out.empty() ? "" : ", ", in_quotes(scope));
    if (!members.empty()) out += fmt::format(" ({})", members);
  }
  return out;
}

}  // namespace belfry
