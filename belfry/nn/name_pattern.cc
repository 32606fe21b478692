#include "belfry/nn/name_pattern.h"

#include <regex>

#include "belfry/base/check.h"
#include "belfry/tower/tower_context.h"

namespace belfry {
namespace {

std::regex compile(std::string_view who, std::string_view expression, const Location& where) {
  try {
    return std::regex(expression.begin(), expression.end());
  } catch (const std::regex_error& error) {
    fail(
        "[{}] expected an ECMAScript regular expression, got \"{}\" ({}; at {}). Escape special characters by a "
        "backslash.",
        who, expression, error.what(), to_string(where));
  }
}

std::string_view without_prefix(std::string_view name, const TowerContext* tower) {
  const std::string_view prefix = tower != nullptr ? std::string_view(tower->variable_scope()) : "";
  return !prefix.empty() && name.starts_with(prefix) && name.substr(prefix.size()).starts_with('/')
             ? name.substr(prefix.size() + 1)
             : name;
}

}  // namespace

std::function<bool(const Variable&)> name_pattern(std::string_view who, std::string_view regex, const Location& where) {
  return [expression = compile(who, regex, where)](const Variable& variable) {
    const std::string full = variable.name();
    const std::string_view own = without_prefix(full, current_tower_context_or_null());
    return std::regex_match(own.begin(), own.end(), expression);
  };
}

}  // namespace belfry
