// The values of variables by name: what checkpoints and exported models hold.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "belfry/session/session.h"

namespace belfry {

// Copies; a variable that is listed twice appears once. If one has no value yet, throws an error that names it and
// `where`, the line that asked.
std::map<std::string, Array> values_of(const Session& session, const std::vector<Variable>& variables,
                                       const Location& where);

// What inference needs: the MODEL_VARIABLES and the trainable variables, without copies that towers of one process keep
// for themselves (LOCAL_VARIABLES).
std::vector<Variable> model_variables(const Graph& graph);

}  // namespace belfry
