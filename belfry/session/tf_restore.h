// Values for a session's variables from a checkpoint that TensorFlow wrote.
#pragma once

#include <string>

#include "belfry/session/session_init.h"

#pragma GCC visibility push(default)
namespace belfry {

// Like NpzRestore: takes all values by name, whether they belong to a model or only to a run. For paths, names and
// types see tf_checkpoint.h. Kernels of convolutions and fully connected layers lie in the file as Belfry has them.
struct TfRestore : SessionInit {
  explicit TfRestore(std::string path, RestoreOptions options = {});
};

}  // namespace belfry
#pragma GCC visibility pop
