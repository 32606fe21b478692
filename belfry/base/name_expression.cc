#include "belfry/base/name_expression.h"

#include <regex>

#include "belfry/base/check.h"

namespace belfry {
namespace {

std::regex compile(std::string_view caller, std::string_view expression, std::string_view where) {
  try {
    return std::regex(expression.begin(), expression.end());
  } catch (const std::regex_error& error) {
    fail(
        "[{}] expected an ECMAScript regular expression, got \"{}\" ({}{}{}). Escape special characters with a "
        "backslash.",
        caller, expression, error.what(), where.empty() ? "" : "; at ", where);
  }
}

}  // namespace

NameExpression::NameExpression(std::string_view caller, std::string_view expression, std::string_view where)
    : text_(expression), matches_([regex = compile(caller, expression, where)](std::string_view name) {
        return std::regex_match(name.begin(), name.end(), regex);
      }) {}

}  // namespace belfry
