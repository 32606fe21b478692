#include "belfry/session/export_model.h"

#include "belfry/array/npz.h"
#include "belfry/base/check.h"
#include "belfry/graph/graph.h"
#include "belfry/session/internal/variable_values.h"
#include "belfry/session/internal/weight_mapping.h"
#include "belfry/session/safetensors.h"

namespace belfry {
namespace {

std::map<std::string, Array> model_of(Session& session, const char* who, const Location& where) {
  const std::vector<Variable> variables = model_variables(session.graph());
  BELFRY_CHECK(!variables.empty(),
               "[{}] expected a graph with trainable variables or MODEL_VARIABLES, got none to export.", who);
  return values_of(session, variables, where);
}

std::map<std::string, Array> for_others(const Graph& graph, const std::map<std::string, Array>& model,
                                        const std::string& caller, const ExportOptions& options) {
  if (options.names.empty() && options.layout == WeightLayout::belfry) return model;
  std::map<std::string, Variable> variables;
  for (const Variable& v : model_variables(graph)) variables.emplace(v.name(), v);
  const WeightRoles roles(graph);
  return WeightMapping(caller, variables, options.names, options.layout, roles).to_theirs(model);
}

}  // namespace

void export_model(Session& session, const std::string& path, const ExportOptions& options, const Location& where) {
  const bool is_npz = path.ends_with(".npz");
  BELFRY_CHECK_AS(
      FileError, is_npz || path.ends_with(".safetensors"),
      "[export_model] expected a path that ends in .npz or .safetensors, got '{}'. The extension decides the format.",
      path);
  const std::map<std::string, Array> model = for_others(session.graph(), model_of(session, "export_model", where),
                                                        fmt::format("export_model '{}'", path), options);
  if (is_npz) {
    write_npz(path, model);
  } else {
    write_safetensors(path, model);
  }
}

void save_npz(Session& session, const std::string& path, const Location& where) {
  write_npz(path, model_of(session, "save_npz", where));
}

}  // namespace belfry
