#include "belfry/session/internal/variable_values.h"

#include <algorithm>

#include "belfry/graph/collections.h"
#include "belfry/graph/graph.h"

namespace belfry {

std::map<std::string, Array> values_of(const Session& session, const std::vector<Variable>& variables,
                                       const Location& where) {
  std::map<std::string, Array> out;
  for (const Variable& variable : variables)
    if (const auto [at, is_new] = out.try_emplace(variable.name()); is_new) at->second = session.value(variable, where);
  return out;
}

std::vector<Variable> model_variables(const Graph& graph) {
  const Collections& collections = graph.collections();
  std::vector<Variable> out = collections.variables(collection::kModelVariables);
  const std::vector<Variable> trainable = collections.variables(collection::kTrainableVariables);
  const std::vector<Variable> local = collections.variables(collection::kLocalVariables);
  out.insert(out.end(), trainable.begin(), trainable.end());
  std::erase_if(out, [&](const Variable& v) { return std::ranges::find(local, v) != local.end(); });
  return out;
}

}  // namespace belfry
