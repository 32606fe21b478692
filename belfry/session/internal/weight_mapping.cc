// What both directions share: which rule holds.
#include "belfry/session/internal/weight_mapping.h"

#include "belfry/base/check.h"
#include "belfry/session/internal/layout_rules.h"
#include "belfry/session/internal/name_row.h"

namespace belfry {

WeightRule WeightMapping::rule_for(const Variable& variable, const NameTable::Row* row) const {
  if (row != nullptr && row->rule().replaces_layout()) return row->rule();
  WeightRole role = roles_.of(variable);
  if (row != nullptr && row->rule().reorders_images()) {  // the row says how
    role.image.clear();
    role.unknown_image_order = false;
  }
  const WeightRule rule = layout_rule(layout_, role, variable.shape());
  return row == nullptr ? rule : rule.then(row->rule());
}

std::vector<std::string> WeightMapping::variable_names() const {
  std::vector<std::string> out;
  for (const auto& [name, variable] : variables_) out.push_back(name);
  return out;
}

std::string WeightMapping::renamed(const NameTable& names, const std::string& theirs) {
  for (const auto& row : names.rows())
    if (const auto ours = row->ours_of(theirs)) return ours->empty() ? "" : ours->front();
  return theirs;
}

}  // namespace belfry
