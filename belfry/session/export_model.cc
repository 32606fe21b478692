#include "belfry/session/export_model.h"

#include <algorithm>

#include "belfry/array/npz.h"
#include "belfry/base/check.h"
#include "belfry/graph/collections.h"
#include "belfry/graph/graph.h"
#include "belfry/session/safetensors.h"
#include "belfry/session/variable_values.h"

namespace belfry {
namespace {

std::map<std::string, Array> model_of(Session& session, const char* who, const Location& where) {
  const Collections& collections = session.graph().collections();
  std::vector<Variable> variables = collections.variables(collection::kModelVariables);
  const std::vector<Variable> trainable = collections.variables(collection::kTrainableVariables);
  const std::vector<Variable> local = collections.variables(collection::kLocalVariables);
  variables.insert(variables.end(), trainable.begin(), trainable.end());
  std::erase_if(variables, [&](const Variable& v) { return std::ranges::find(local, v) != local.end(); });
  BELFRY_CHECK(!variables.empty(),
               "[{}] expected a graph with trainable variables or MODEL_VARIABLES, got none to export.", who);
  return values_of(session, variables, where);
}

}  // namespace

void export_model(Session& session, const std::string& path, const Location& where) {
  const bool is_npz = path.ends_with(".npz");
  BELFRY_CHECK_AS(FileError, is_npz || path.ends_with(".safetensors"),
                  "[export_model] expected a path that ends in .npz or .safetensors, got '{}'. The ending decides the "
                  "format.",
                  path);
  const std::map<std::string, Array> model = model_of(session, "export_model", where);
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
