// Another program's weights as ours and back: names by a table, values by the rules of its rows or of a layout.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "belfry/session/internal/weight_roles.h"
#include "belfry/session/internal/weight_rule.h"
#include "belfry/session/name_table.h"

namespace belfry {

class WeightMapping {
 public:
  // `variables` by the names that rows give them; `caller` begins the texts of errors. All are used by reference.
  WeightMapping(const std::string& caller, const std::map<std::string, Variable>& variables, const NameTable& names,
                WeightLayout layout, const WeightRoles& roles)
      : caller_(caller), variables_(variables), names_(names), layout_(layout), roles_(roles) {}

  using Arrays = std::map<std::string, Array>;
  struct ImportOptions {
    std::function<bool(const std::string& name)> is_ignored{};  // such a variable's value is not converted
    bool skip_mismatched = false;                               // another shape is no error here
  };
  // A value that no row matches keeps its name. Throws one error that lists each row without a value, each result
  // that is no variable, each variable with more than one value, and each value that does not fit its rule.
  Arrays to_ours(const Arrays& theirs, const ImportOptions& options) const;

  // The reverse. Throws one error that lists each row that cannot be reversed or has no variable, each variable whose
  // new name would not lead back to it, and each name that two have.
  Arrays to_theirs(const Arrays& ours) const;

  // The name that the table gives to one of theirs: of several, the first; "" if it is not used.
  static std::string renamed(const NameTable& names, const std::string& theirs);

 private:
  class Import;
  class Export;
  // What holds for a variable: the row's rule, and the layout's unless the row replaces it.
  WeightRule rule_for(const Variable& variable, const NameTable::Row* row) const;
  std::vector<std::string> variable_names() const;

  const std::string& caller_;
  const std::map<std::string, Variable>& variables_;
  const NameTable& names_;
  WeightLayout layout_;
  const WeightRoles& roles_;
};

}  // namespace belfry
