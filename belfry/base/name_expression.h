// Choosing things by a regular expression on their names. For sources and for classes that hold one.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#pragma GCC visibility push(default)
namespace belfry {

// An ECMAScript regular expression that a whole name has to match.
class NameExpression {
 public:
  // Throws if the expression is not valid: `caller` begins the error text, and `where`, unless empty, is part of it.
  NameExpression(std::string_view caller, std::string_view expression, std::string_view where = "");
  bool matches(std::string_view name) const { return matches_(name); }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::function<bool(std::string_view)> matches_;
};

}  // namespace belfry
#pragma GCC visibility pop
