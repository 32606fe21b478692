#include "belfry/session/tf_restore.h"

#include "belfry/base/check.h"
#include "belfry/session/internal/restore_plan.h"
#include "belfry/session/tf_checkpoint.h"

namespace belfry {

TfRestore::TfRestore(std::string path, RestoreOptions options)
    : SessionInit(fmt::format("TfRestore '{}'", path), [path, options = std::move(options)](Session& session) {
        return restore_plan(fmt::format("TfRestore '{}'", path), session, {read_tf_checkpoint(path)}, options,
                            Take::everything);
      }) {}

}  // namespace belfry
