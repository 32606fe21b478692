// Models that should not be saved.
#pragma once

#include <string>

#include "belfry/session/session.h"

namespace belfry {

// Whether a checkpoint would hold NaN in any variable, or infinity in a trainable one or in an optimizer's slot (in
// others it may be intended: a mask). If so, logs, in the name of `saver`, which variables these are, and that nothing
// is saved.
bool model_is_broken(Session& session, const std::string& saver);

}  // namespace belfry
