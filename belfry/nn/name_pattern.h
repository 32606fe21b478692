// Choosing variables by a regular expression on their names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "belfry/base/name_expression.h"
#include "belfry/graph/variable.h"
#include "belfry/nn/optimizer.h"

#pragma GCC visibility push(default)
namespace belfry {

// A variable's name without the prefix of the tower that it belongs to, if that has separate variables.
std::string_view name_in_tower(const Variable& variable);

// An ECMAScript expression that the whole name_in_tower() has to match.
class NamePattern {
 public:
  // Throws if the expression is not valid; `caller` begins the text of that error.
  NamePattern(std::string caller, std::string_view expression, const Location& where);
  bool matches(const Variable& variable) const;
  const std::string& expression() const { return expression_.text(); }
  // Throws an error that names these if it matches none of them.
  void expect_match(const GradientsAndVariables& among) const;

 private:
  std::string caller_;
  NameExpression expression_;
  Location where_;
};

// A factor for the variables that an expression matches. If several match, the first one counts.
struct ScaleByRegex {
  std::string regex{};
  double scale = 1;
};
class ScalesByRegex {
 public:
  ScalesByRegex(const std::string& caller, const std::vector<ScaleByRegex>& scales, const Location& where);
  double of(const Variable& variable) const;                      // 1 if none matches
  void expect_matches(const GradientsAndVariables& among) const;  // of each expression

 private:
  std::vector<std::pair<NamePattern, double>> scales_;
};

}  // namespace belfry
#pragma GCC visibility pop
