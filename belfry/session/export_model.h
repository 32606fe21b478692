// A trained model as one file of named arrays, without what only training needs: the MODEL_VARIABLES and the trainable
// variables. Copies that towers of one process keep for themselves (LOCAL_VARIABLES) are omitted.
#pragma once

#include <string>

#include "belfry/session/session.h"

#pragma GCC visibility push(default)
namespace belfry {

// To .npz or .safetensors, by the path's extension. Atomic: after an error, what was at `path` is still there.
void export_model(Session& session, const std::string& path, const Location& where = Location::current());
// The same to a NumPy file, whatever its extension.
void save_npz(Session& session, const std::string& path, const Location& where = Location::current());

}  // namespace belfry
#pragma GCC visibility pop
