// Choosing things by a regular expression on their names. For sources and for classes that hold one.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace belfry {

// An ECMAScript expression that a name has to match as a whole.
class NameExpression {
 public:
  // `caller` leads the text of the error that an expression which is none throws; `where`, if there is one, is in it.
  NameExpression(std::string_view caller, std::string_view expression, std::string_view where = "");
  bool matches(std::string_view name) const { return matches_(name); }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::function<bool(std::string_view)> matches_;
};

}  // namespace belfry
