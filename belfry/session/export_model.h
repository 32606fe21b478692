// A trained model as one file of named arrays, without what only training needs: the MODEL_VARIABLES and the trainable
// variables. Copies that towers of one process keep for themselves (LOCAL_VARIABLES) are omitted.
#pragma once

#include <string>

#include "belfry/session/name_table.h"
#include "belfry/session/session.h"

#pragma GCC visibility push(default)
namespace belfry {

// For another program: its names and its layout, as in RestoreOptions. The table is used backwards; variables that no
// row leads to keep their names.
struct ExportOptions {
  NameTable names{};
  WeightLayout layout = WeightLayout::belfry;
};

// To .npz or .safetensors, by the path's extension. Atomic: after an error, what was at `path` is still there.
void export_model(Session& session, const std::string& path, const ExportOptions& options = {},
                  const Location& where = Location::current());
// To a NumPy file, whatever its extension, with our names and layout.
void save_npz(Session& session, const std::string& path, const Location& where = Location::current());

}  // namespace belfry
#pragma GCC visibility pop
