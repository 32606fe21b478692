#include "belfry/nn/name_pattern.h"

#include <algorithm>
#include <cmath>

#include "belfry/base/check.h"
#include "belfry/graph/graph.h"

namespace belfry {

std::string_view name_in_tower(const Variable& variable) {
  const std::string_view name = variable.name();
  const std::string& prefix = variable.node()->graph->record(variable.node()).tower_prefix;
  return prefix.empty() ? name : name.substr(prefix.size() + 1);
}

NamePattern::NamePattern(std::string caller, std::string_view expression, const Location& where)
    : caller_(std::move(caller)), expression_(caller_, expression, to_string(where)), where_(where) {}

bool NamePattern::matches(const Variable& variable) const { return expression_.matches(name_in_tower(variable)); }

void NamePattern::expect_match(const GradientsAndVariables& among) const {
  if (std::ranges::any_of(among, [&](const GradientAndVariable& item) { return matches(item.variable); })) return;
  std::string names;
  for (const GradientAndVariable& item : among)
    names += fmt::format("{}'{}'", names.empty() ? "" : ", ", name_in_tower(item.variable));
  fail(
      "[{}] expected an expression that matches a variable to train, got \"{}\", which matches none of {} (at {}). The "
      "whole name has to match.",
      caller_, expression_.text(), names.empty() ? "no variables" : names, to_string(where_));
}

ScalesByRegex::ScalesByRegex(const std::string& caller, const std::vector<ScaleByRegex>& scales,
                             const Location& where) {
  BELFRY_CHECK(!scales.empty(), "[{}] expected expressions and their factors, got none (at {})", caller,
               to_string(where));
  for (const ScaleByRegex& item : scales) {
    BELFRY_CHECK(
        item.scale >= 0 && std::isfinite(item.scale),
        "[{}] expected factors of 0 or more, got {} for \"{}\" (at {}). To maximise something, minimize its negative.",
        caller, item.scale, item.regex, to_string(where));
    scales_.emplace_back(NamePattern(caller, item.regex, where), item.scale);
  }
}

double ScalesByRegex::of(const Variable& variable) const {
  const auto at = std::ranges::find_if(scales_, [&](const auto& item) { return item.first.matches(variable); });
  return at == scales_.end() ? 1 : at->second;
}

void ScalesByRegex::expect_matches(const GradientsAndVariables& among) const {
  for (const auto& [pattern, scale] : scales_) pattern.expect_match(among);
}

}  // namespace belfry
