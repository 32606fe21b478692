#include "belfry/session/variable_values.h"

namespace belfry {

std::map<std::string, Array> values_of(const Session& session, const std::vector<Variable>& variables,
                                       const Location& where) {
  std::map<std::string, Array> out;
  for (const Variable& variable : variables)
    if (const auto [at, is_new] = out.try_emplace(variable.name()); is_new) at->second = session.value(variable, where);
  return out;
}

}  // namespace belfry
