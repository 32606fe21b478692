// SmartInit: values for a session from whatever a user names.
//
//   config.session_init = SmartInit(options.load);  // a path from the command line, or ""
#pragma once

#include <map>
#include <string>

#include "belfry/session/session_init.h"

#pragma GCC visibility push(default)
namespace belfry {

// "": nothing is restored. "x.npz": NpzRestore. A checkpoint of TensorFlow: TfRestore. Otherwise SaverRestore: a
// checkpoint, an exported model or a directory. An array for each name: DictRestore.
struct SmartInit : SessionInit {
  explicit SmartInit(const std::string& path, const RestoreOptions& options = {});
  explicit SmartInit(std::map<std::string, Array> values, const RestoreOptions& options = {});
};

}  // namespace belfry
#pragma GCC visibility pop
